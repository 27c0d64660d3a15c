"""What a campaign has done, in one SQLite file that a killed campaign goes on from.

A case is there once it is finished, in a transaction of its own: after a kill at any moment every
recorded case is whole, and every other one is made again. Read `Store.record` first.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kernelref.errors import InvalidInput
from kernelref.fuzzing.campaign_case import Plan
from kernelref.fuzzing.campaign_folder import Folder
from kernelref.fuzzing.campaign_result import CaseResult, Confirmed
from kernelref.opt.opt import Opt, OptOps

FILE = "campaign.sqlite"
SCHEMA = 4

_TABLES = """
create table plan (schema integer, plan text, known text);
create table cases (
  number integer primary key, stage text, outcome text, reason text, detail text, opts text,
  refused integer, points integer, seconds text, features text
);
create table features (
  id integer primary key, name text unique, cases integer, first_case integer
);
create table unproved (name text primary key, count integer);
create table not_run (name text primary key, count integer);
create table differs (name text primary key, count integer);
create table inherited (name text primary key, count integer);
create table findings (
  key text primary key, cases integer, first_case integer, text text, minimised text,
  confirmed text
);
"""


@dataclass(frozen=True, slots=True)
class StoredFinding:
    """Cases that fail alike: how many, the first of them, its text and the smallest made of it.

    `confirmed` is what a release process that served the first alone says of it.
    """

    key: str
    cases: int
    first: int
    text: str
    minimised: str | None
    confirmed: Confirmed = Confirmed.UNASKED

    @property
    def stage(self) -> str:
        """Where on the ladder they fail; the key's words after it are kinds of opts."""
        return re.split("[:,]", self.key.rpartition(" at ")[2], maxsplit=1)[0]

    @property
    def smallest(self) -> str:
        """The smallest case there is."""
        return self.minimised or self.text


class Store:
    """The file of one campaign. Use as a context manager.

    `plan` is the campaign's: its known sequences are those of the day it was started.
    """

    def __init__(self, folder: Path, plan: Plan) -> None:
        """Open the campaign in `folder`, or start it there.

        Raises: InvalidInput when another plan's campaign lies there, or something else, or another
        campaign is running there.
        """
        self.folder = Folder(folder)
        self.path = folder / FILE
        self.plan = plan
        try:
            self._open()
        except BaseException:
            self.folder.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc: object) -> None:
        self._db.close()
        self.folder.close()

    def _open(self) -> None:
        try:
            self._db = sqlite3.connect(self.path, isolation_level=None)
        except sqlite3.DatabaseError as error:
            raise self._is_none(str(error)) from None
        try:
            # Nothing is changed in a file before it is known to be a campaign's.
            self._db.execute("begin immediate")
            self._start()
            self._db.execute("commit")
            self._db.execute("pragma journal_mode = wal")
            self._db.execute("pragma synchronous = normal")
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise self._is_none(str(error)) from None
        except BaseException:
            self._db.close()
            raise

    def _is_none(self, why: str) -> InvalidInput:
        return InvalidInput(f"no campaign: {why}", where=str(self.path))

    def _start(self) -> None:
        """Make the tables, or see that they are there; inside a transaction."""
        rows = self._db.execute("select name from sqlite_master where type = 'table'")
        tables = {name for (name,) in rows}
        if not tables:
            known = json.dumps([_opts_text(sequence) for sequence in self.plan.known])
            row = (SCHEMA, _spelt(self.plan), known)
            for statement in _TABLES.split(";"):
                self._db.execute(statement)
            self._db.execute("insert into plan values (?, ?, ?)", row)
            return
        if "plan" not in tables:
            raise self._is_none("another program's tables are in it")
        found = self._db.execute("select schema, plan, known from plan").fetchone()
        if found is None:
            raise self._is_none("it names no plan")
        schema, spelt, known = found
        if schema != SCHEMA:
            raise InvalidInput(
                f"holds a campaign in schema {schema}, and this is schema {SCHEMA}; name another "
                "--store",
                where=str(self.path),
            )
        if spelt != _spelt(self.plan):
            raise InvalidInput(
                "holds a campaign of another seed, optimizer or kernels; name another --store",
                where=str(self.path),
            )
        if missing := sorted(set(re.findall(r"create table (\w+)", _TABLES)) - tables):
            raise self._is_none(f"it lacks the table {missing[0]}")
        try:
            sequences = tuple(map(_opts, json.loads(known)))
        except (KeyError, TypeError, ValueError):
            raise self._is_none("its known sequences are damaged") from None
        # The corpus may have grown since; the numbers keep meaning what they meant.
        self.plan = replace(self.plan, known=sequences)

    def record(self, result: CaseResult) -> bool:
        """Keep a finished case; whether it is a finding of a new kind."""
        ending = result.ending
        self._db.execute("begin immediate")
        try:
            features = json.dumps([self._feature(name, result.number) for name in result.features])
            self._db.execute(
                "insert into cases values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    result.number, ending.stage.value, ending.outcome.value, ending.reason,
                    ending.detail, _opts_text(result.opts), result.refused, result.points,
                    json.dumps({k: round(v, 6) for k, v in result.seconds.items()}), features,
                ),
            )  # fmt: skip
            self._count("unproved", result.unproved)
            self._count("not_run", result.not_run)
            self._count("differs", result.differs)
            self._count("inherited", (result.key,) if ending.inherited else ())
            is_new = result.is_finding and self._record_finding(result)
            self._db.execute("commit")
        except BaseException:
            self._db.execute("rollback")
            raise
        return is_new

    def _count(self, table: str, names: tuple[str, ...]) -> None:
        self._db.executemany(
            f"insert into {table} values (?, 1) on conflict (name) do update set count = count + 1",
            [(name,) for name in names],
        )

    def _feature(self, name: str, number: int) -> int:
        """Count a feature; its id."""
        (found,) = self._db.execute(
            "insert into features (name, cases, first_case) values (?, 1, ?) "
            "on conflict (name) do update set cases = cases + 1, "
            "first_case = min(first_case, excluded.first_case) returning id",
            (name, number),
        ).fetchone()
        return int(found)

    def _record_finding(self, result: CaseResult) -> bool:
        known = self._db.execute(
            "select cases from findings where key = ?", (result.key,)
        ).fetchone()
        self._db.execute(
            "insert into findings values (?, 1, ?, ?, null, ?) "
            "on conflict (key) do update set cases = cases + 1, "
            "text = iif(excluded.first_case < first_case, excluded.text, text), "
            "confirmed = iif(excluded.first_case < first_case, excluded.confirmed, confirmed), "
            "first_case = min(first_case, excluded.first_case)",
            (result.key, result.number, result.case, result.confirmed.value),
        )
        return known is None

    def minimise(self, key: str, text: str) -> None:
        """Keep the smallest case of a finding."""
        self._db.execute("update findings set minimised = ? where key = ?", (text, key))

    def numbers(self) -> set[int]:
        """The cases that are finished."""
        return {number for (number,) in self._db.execute("select number from cases")}

    def generation(self, first: int, count: int) -> Iterator[tuple[list[str], tuple[Opt, ...]]]:
        """Features and opts of the finished cases from `first` on, by number."""
        names = dict(self._db.execute("select id, name from features").fetchall())
        rows = self._db.execute(
            "select features, opts from cases where number >= ? and number < ? order by number",
            (first, first + count),
        )
        for features, opts in rows.fetchall():
            yield [names[feature] for feature in json.loads(features)], _opts(opts)

    def outcomes(self) -> Counter[str]:
        """Cases by outcome."""
        rows = self._db.execute("select outcome, count(*) from cases group by outcome")
        return Counter(dict(rows.fetchall()))

    def unsupported(self) -> Counter[str]:
        """Unsupported cases by reason."""
        rows = self._db.execute(
            "select reason, count(*) from cases where outcome = 'UNSUPPORTED' group by reason"
        )
        return Counter(dict(rows.fetchall()))

    def unproved(self) -> Counter[str]:
        """Obligations that were neither proved nor refuted."""
        return Counter(dict(self._db.execute("select name, count from unproved").fetchall()))

    def not_run(self) -> Counter[str]:
        """In how many cases a device could not run what came through, by device and reason."""
        return Counter(dict(self._db.execute("select name, count from not_run").fetchall()))

    def differs(self) -> Counter[str]:
        """What a changed release did otherwise than the published one, and in how many cases."""
        return Counter(dict(self._db.execute("select name, count from differs").fetchall()))

    def inherited(self) -> Counter[str]:
        """Faults of the published release that a changed one has as well, by kind."""
        return Counter(dict(self._db.execute("select name, count from inherited").fetchall()))

    def features(self) -> Counter[str]:
        """In how many cases each feature occurs."""
        return Counter(dict(self._db.execute("select name, cases from features").fetchall()))

    def medians(self) -> tuple[int, int]:
        """The median of iteration points and of accepted opts of a case."""
        points = [n for (n,) in self._db.execute("select points from cases order by points")]
        opts = sorted(len(_opts(text)) for (text,) in self._db.execute("select opts from cases"))
        middle = len(points) // 2
        return (points[middle], opts[middle]) if points else (0, 0)

    def opts(self) -> Counter[str]:
        """How often each kind of opt was applied."""
        found: Counter[str] = Counter()
        for (text,) in self._db.execute("select opts from cases"):
            found.update(opt.op.value for opt in _opts(text))
        return found

    def refused(self) -> int:
        """How many opts were asked for and refused."""
        (count,) = self._db.execute("select coalesce(sum(refused), 0) from cases").fetchone()
        return int(count)

    def findings(self) -> list[StoredFinding]:
        """The kinds of findings, by the number of the first case."""
        rows = self._db.execute(
            "select key, cases, first_case, text, minimised, confirmed from findings "
            "order by first_case"
        )
        return [
            StoredFinding(key, cases, first, text, minimised, Confirmed(confirmed))
            for key, cases, first, text, minimised, confirmed in rows
        ]


def _spelt(plan: Plan) -> str:
    """What makes a campaign another one."""
    return json.dumps(
        {
            "seed": plan.seed,
            "optimizer": plan.optimizer,
            "kernels": list(plan.kernels),
            "sampled": plan.sampled,
            "proves": plan.proves,
            "devices": [target.name for target in plan.targets],
        }
    )


def _opts_text(opts: tuple[Opt, ...]) -> str:
    return json.dumps([[opt.op.value, opt.axis, opt.amt] for opt in opts])


def _opts(text: str) -> tuple[Opt, ...]:
    return tuple(Opt(OptOps[op], axis, amt) for op, axis, amt in json.loads(text))
