"""Ask your reports: scoped, grounded answers over country reports, yearly reviews and other documents."""

__version__ = "0.4.0"
