"""The objects of a bucket, at Amazon S3 or any server with its protocol (MinIO, Ceph,
Cloudflare R2).
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from pydantic import Field

from ....domain.errors import LoadError
from ....library.loaders import suffixes
from ....library.sources import Source
from . import Connector, Download, SourceFile

SECONDS = 30
"""Time limit for a connection, and for silence."""


class BucketConnector(Connector):
    """``endpoint``: address of a server that is not Amazon's. The keys of access are
    those that boto3 finds.
    """

    bucket: str = Field(min_length=1)
    prefix: str = ""
    endpoint: str | None = Field(None, pattern="^https?://")
    region: str | None = None

    def files(self, download: Download) -> Iterator[SourceFile]:
        readable = suffixes()
        try:
            config = Config(
                connect_timeout=SECONDS,
                read_timeout=SECONDS,
                retries={"mode": "standard"},
            )
            client = boto3.client(
                "s3", endpoint_url=self.endpoint, region_name=self.region, config=config
            )
            for page in client.get_paginator("list_objects_v2").paginate(
                Bucket=self.bucket, Prefix=self.prefix
            ):
                for one in page.get("Contents", ()):
                    key = one["Key"]
                    if PurePosixPath(key).suffix.lower() in readable and self.matches(
                        key
                    ):
                        source = Source(Path(), f"s3://{self.bucket}/{key}")
                        yield SourceFile(
                            source,
                            one["ETag"],
                            partial(self.fetch, client, key),
                            one["Size"],
                        )
        except (BotoCoreError, ClientError) as error:
            raise LoadError(
                f"The bucket {self.bucket} cannot be listed: {error}"
            ) from error

    def fetch(self, client: Any, key: str, folder: Path) -> Path:
        path = folder / PurePosixPath(key).name
        try:
            client.download_file(self.bucket, key, str(path))
        except (BotoCoreError, ClientError) as error:
            raise LoadError(f"{key} cannot be fetched: {error}") from error
        return path


build = BucketConnector
