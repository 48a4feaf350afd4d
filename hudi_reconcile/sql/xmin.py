"""PostgreSQL's system column `xmin` as a number that only grows: the transaction that wrote a row's version. Pure text.

`xmin` has 32 bits and starts again after 4 billion transactions; the server's own counter has 64. A row that a snapshot
sees was written below the snapshot's xmax, so its number is the greatest one below xmax that ends in the same 32 bits. For a
row that is not frozen this is exact: its age is below 2^31. A frozen row keeps its `xmin` (since 9.4) and may be older by whole
rounds: it is then taken for newer, never for older, so it is read once more and never passed over.
"""

from __future__ import annotations

from hudi_reconcile.core.kinds import Column, Kind

NAME = "xmin"
# Of all rows, whatever the table calls its columns: no PostgreSQL column can be named so.
COLUMN = Column(NAME, Kind.INTEGER, "xid", nullable=False, bits=64, native="xid", system=True)

_NEWEST = "(select pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1)"
_MASK = 2**32 - 1
_FIRST_NORMAL = 3  # below: made by initdb, or frozen by a server before 9.4; older than all


def number(xid: str = NAME, newest: str = _NEWEST) -> str:
    """The 64-bit number of a 32-bit one. `newest` is the greatest that any visible row can have."""
    plain = f"{xid}::text::bigint"
    return f"case when {plain} < {_FIRST_NORMAL} then {plain} else {newest} - (({newest} - {plain}) & {_MASK}) end"


def version_bound(snapshot: str) -> int:
    """Every transaction below it has ended: the xmin of a snapshot `xmin:xmax:list`, in 64 bits, prepared ones included.

    >>> version_bound("759:763:759,761")
    759
    """
    return int(snapshot.partition(":")[0])


# One row. What the numbers hang on beside the system id: the timeline (a promoted or restored server may give the same numbers
# out again) and the table's own oid (a table swapped in under the name brings rows with old numbers). `others` are members of
# the table that keep no xmin of this server: foreign tables, other storage.
STANDING_QUERY = """
with recursive members(oid) as (
  select cast(:oid as oid) union select i.inhrelid from pg_inherits i join members m on i.inhparent = m.oid)
select pg_is_in_recovery() as is_replica,
       case when pg_is_in_recovery() then null else left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) end as timeline,
       array(select c.oid::regclass::text from members m join pg_class c on c.oid = m.oid
               left join pg_am a on a.oid = c.relam
              where c.relkind not in ('r', 'p') or (c.relkind = 'r' and a.amname <> 'heap') order by 1) as others
"""
