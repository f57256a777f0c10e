"""Serve MongoDB's wire protocol by mongoeco. Run by Python 3.13, in an environment that
has nothing of this project: prints the port, then serves until it is ended.
"""

import asyncio
import sys

from mongoeco.wire.proxy import AsyncMongoEcoProxyServer

DIALECT = "8.0"
"""The release of MongoDB that it answers like."""


async def main() -> None:
    async with AsyncMongoEcoProxyServer(mongodb_dialect=DIALECT) as server:
        sys.stdout.write(f"{server.address.port}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
