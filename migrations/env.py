"""Runs revisions on the connection that `rag_monitor.store.migration` hands over."""

from alembic import context
from sqlalchemy import create_engine

from rag_monitor.store.schema import metadata


def run() -> None:
    """Migrate on the connection given, or on a URL of the `alembic` command line."""
    connection = context.config.attributes.get("connection")
    if connection is None:
        url = context.get_x_argument(as_dictionary=True).get("url")
        if not url:
            raise SystemExit("use `rag-monitor migrate`, or `alembic -x url=DATABASE_URL …`")
        with create_engine(url).begin() as own:
            migrate(own)
        return
    migrate(connection)


def migrate(connection) -> None:
    """Run the revisions inside the transaction of `connection`."""
    context.configure(
        connection=connection,
        target_metadata=metadata,
        transactional_ddl=True,
        compare_server_default=False,
    )
    # The caller owns the transaction: a revision that fails leaves nothing behind.
    context.run_migrations()


run()
