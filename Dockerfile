# Two stages: pip and its caches stay in the first. No compiler is needed, because every package has a wheel.
FROM python:3.12-slim AS packages
WORKDIR /build
RUN python -m venv /venv
ENV PATH=/venv/bin:$PATH
COPY requirements.lock .
RUN pip install --no-cache-dir --require-hashes -r requirements.lock && pip uninstall --yes pip

FROM python:3.12-slim
RUN useradd --create-home --uid 10001 app && mkdir -p /app/data && chown app /app/data
COPY --from=packages /venv /venv
WORKDIR /app
COPY . .
# By its number: a host that checks who runs it cannot look the name up.
USER 10001

# The server listens on all addresses of the container. Published ports are set outside (compose.yaml).
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 HOST=0.0.0.0 PORT=8000
VOLUME /app/data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/health')"]
CMD ["gunicorn", "app:app"]
