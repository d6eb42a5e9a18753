"""Copy a prefix by the AWS Common Runtime as boto3[crt] runs it, but without TLS, which boto3 does not leave out.

Run by the interpreter that has boto3[crt], which is not that of this project.
"""

import os
import sys
from pathlib import Path

from botocore.session import Session  # type: ignore[import-untyped]
from s3transfer.crt import (  # type: ignore[import-untyped]
    BotocoreCRTCredentialsWrapper,
    BotocoreCRTRequestSerializer,
    CRTTransferManager,
    create_s3_crt_client,
)


def main(action: str, bucket: str, prefix: str, folder: str) -> None:
    session, region = Session(), os.environ["AWS_DEFAULT_REGION"]
    endpoint_url = os.environ["AWS_ENDPOINT_URL"]
    credentials = BotocoreCRTCredentialsWrapper(session.get_credentials()).to_crt_credentials_provider()
    crt = create_s3_crt_client(region, crt_credentials_provider=credentials, use_ssl=False)
    serializer = BotocoreCRTRequestSerializer(session, {"region_name": region, "endpoint_url": endpoint_url})
    with CRTTransferManager(crt, serializer) as manager:
        if action == "upload":
            started = [manager.upload(str(path), bucket, prefix + path.name) for path in sorted(Path(folder).iterdir())]
        else:
            client = session.create_client("s3", region_name=region, endpoint_url=endpoint_url)
            pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
            keys = [found["Key"] for page in pages for found in page.get("Contents", ())]
            started = [manager.download(bucket, key, str(Path(folder, key.removeprefix(prefix)))) for key in keys]
        for each in started:
            each.result()


if __name__ == "__main__":
    main(*sys.argv[1:])
