"""infra/upgrade: another version, with a migration, while agents ask."""

import os
import signal
from pathlib import Path

import psycopg
import pytest

from services.persistence.schema import read_head_revision
from tests.compose_stack import SERVER_SERVICES, ComposeStack
from tests.conditions import eventually

NEXT = "2999_01_01_0000"
MIGRATION = '''"""As the next version may bring it: something more."""

from alembic import op

revision = "{revision}"
down_revision = "{before}"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute("ALTER TABLE tenants ADD COLUMN of_the_next_version text")


def downgrade() -> None:
    op.execute("ALTER TABLE tenants DROP COLUMN of_the_next_version")
'''


@pytest.fixture
def left_over(stack: ComposeStack) -> None:
    """A container of the API that was made by the version before and does not run; and no worker."""
    stack.compose("up", "--no-start", "--no-deps", "--no-recreate", "--scale", "api=3", "api")
    stack.compose("stop", "worker")


@pytest.fixture(scope="module")
def backed_up(stack: ComposeStack):
    stack.compose("--profile", "backup", "up", "--detach", "--wait", "backup")
    yield
    stack.compose("--profile", "backup", "rm", "--stop", "--force", "backup")


@pytest.fixture
def version_that_does_not_start(stack: ComposeStack):
    compose = Path(stack.folder) / "docker-compose.yml"
    before = compose.read_text()
    compose.write_text(before.replace("REDIS_URL_FILE: /run/secrets/redis_url", "REDIS_URL_FILE: /nowhere"))
    yield
    compose.write_text(before)


@pytest.fixture
def next_version(stack: ComposeStack) -> str:
    """The image of the version that comes into the stack's checkout."""
    folder = Path(stack.folder)
    compose = folder / "docker-compose.yml"
    (image,) = {stack.inspect(each, "{{.Config.Image}}") for each in stack.containers("api")}
    compose.write_text(compose.read_text().replace(image, f"{image}-next"))
    migration = MIGRATION.format(revision=NEXT, before=read_head_revision())
    (folder / "migrations" / "versions" / f"{NEXT}_next.py").write_text(migration)
    return f"{image}-next"


@pytest.fixture
def version_before(stack: ComposeStack) -> str:
    """The image of the version that was in the stack's checkout before the next one, and comes into it again."""
    folder = Path(stack.folder)
    compose = folder / "docker-compose.yml"
    (image,) = {stack.inspect(each, "{{.Config.Image}}") for each in stack.containers("api")}
    compose.write_text(compose.read_text().replace(image, image.removesuffix("-next")))
    (folder / "migrations" / "versions" / f"{NEXT}_next.py").unlink()
    return image.removesuffix("-next")


def test_an_upgrade_that_fails_says_at_what_and_the_version_before_serves_on(
    stack, version_that_does_not_start, client
):
    before = stack.containers("api")
    ran = stack.run("infra/upgrade", check=False)
    assert ran.returncode == 1
    *_, reason, last = ran.stderr.splitlines()
    assert reason == "api: REDIS_URL_FILE: cannot read /nowhere: No such file or directory"
    assert last == "upgrade: the new version does not start; the old containers serve on"
    assert stack.containers("api") == before
    assert client.get("/readyz").status_code == 200


def test_an_upgrade_that_is_ended_takes_its_new_container_away(stack, client):
    before = stack.containers("api")
    with stack.start("infra/upgrade") as upgrade:
        eventually(lambda: len(stack.containers("api")) > len(before), patience_s=180)
        os.killpg(upgrade.pid, signal.SIGINT)
        _, said = upgrade.communicate()
    assert upgrade.returncode != 0
    assert "upgrade: this was ended; the old containers serve on" in said.splitlines()
    assert stack.containers("api") == before
    assert client.get("/readyz").status_code == 200


def test_recommendations_go_on_while_another_version_comes_in(
    stack, left_over, backed_up, next_version, agents_requesting, figure
):
    before = stack.containers("api")
    with agents_requesting() as outcomes:
        said = stack.run("infra/upgrade").stderr
    failed = outcomes.total() - outcomes["200"]
    figure(f"upgrade under load: {outcomes.total()} recommendations, {failed} failed; {said.splitlines()[-1]}")
    assert outcomes.keys() == {"200"}
    after = stack.containers("api")
    assert len(after) == len(before)
    assert not set(after) & set(before)
    for service in (*SERVER_SERVICES, "backup"):
        assert stack.containers(service)
        for container in stack.containers(service):
            assert stack.inspect(container, "{{.Config.Image}}") == next_version
            assert stack.health(container) == "healthy"
    with psycopg.connect(stack.url_from_here("admin_database_url", "postgres")) as database:
        assert database.execute("SELECT version_num FROM alembic_version").fetchone() == (NEXT,)


def test_the_version_before_comes_back_in_the_same_way_if_nothing_was_taken_from_it(
    stack, backed_up, version_before, agents_requesting
):
    with agents_requesting() as outcomes:
        stack.run("infra/upgrade")
    assert outcomes.keys() == {"200"}
    for service in (*SERVER_SERVICES, "backup"):
        for container in stack.containers(service):
            assert stack.inspect(container, "{{.Config.Image}}") == version_before
    with psycopg.connect(stack.url_from_here("admin_database_url", "postgres")) as database:
        assert database.execute("SELECT version_num FROM alembic_version").fetchone() == (NEXT,)
