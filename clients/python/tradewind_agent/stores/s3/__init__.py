"""Object stores that speak the S3 protocol: AWS, MinIO, Ceph, Google's XML interface and others.

Begin with `store`; `session` finds credentials, region and endpoint as the user's other tools do.
"""
