"""The examples at the end of `--help`, by command. Read when help is shown, and by docs/cli.md.

A test parses every line, and runs those that need no id, no key and no server.
"""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "run": (
        'rlm run "What is the Activity class?" --ontology ontology/prov.ttl',
        'rlm run "Where is the sandbox mentioned?" --context README.md --model offline',
        'rlm run "Who signed it?" -c contract.txt --model openai/NAME --max-cost 0.50',
    ),
    "memory add": (
        'rlm memory add --title "Upload big files in parts" --content "1. Split. 2. Send each."',
        'rlm memory add --title "Release steps" --file release.md --tag release --level team',
        'rlm memory add --kind decision --title "Merge first" --content "Merge, then cut off."',
    ),
    "memory search": (
        'rlm memory search "sending a large attachment times out"',
        'rlm memory search "find the subclasses of a class" -k 3 --explain',
    ),
    "memory why": ("rlm memory why 3f2a91c0", 'rlm memory why "uploads time out"'),
    "memory feedback": ("rlm memory feedback 3f2a91c0 --helpful",),
    "memory stability": ("rlm memory stability",),
    "memory decay": ("rlm memory decay",),
    "memory list": (
        "rlm memory list --outcome failure --limit 10",
        "rlm memory list --pack core_v1 --json",
    ),
    "memory stats": ("rlm memory stats", "rlm memory stats --project other --json"),
    "memory consolidate": ("rlm memory consolidate --dry-run",),
    "memory import": ("rlm memory import memories.json",),
    "memory show": ("rlm memory show 3f2a91c0",),
    "memory edit": (
        "rlm memory edit 3f2a91c0",
        "rlm memory edit 3f2a91c0 --tag release --confidence 0.9",
    ),
    "memory rm": ("rlm memory rm 3f2a91c0 77b0de12", "rlm memory rm 3f2a91c0 --hard --yes"),
    "memory restore": ("rlm memory restore 3f2a91c0",),
    "memory review": (
        "rlm memory review",
        "rlm memory review --approve 3f2a91c0 --reject 77b0de12",
    ),
    "memory insights": ("rlm memory insights --limit 5",),
    "memory train": ("rlm memory train --curriculum docs/curricula/prov_v1.yaml",),
    "graph add": ('rlm graph add fact "Water boils at 100 °C at sea level" --confidence 0.9',),
    "graph link": ('rlm graph link relation "is measured by" 5d1c:subject 9a20:object',),
    "graph search": (
        'rlm graph search "boiling water" --type fact --explain',
        """rlm graph search '"at sea level" boils'""",
    ),
    "graph list": ("rlm graph list --tier longterm --limit 10",),
    "graph show": ("rlm graph show 5d1c07e2",),
    "graph edit": ("rlm graph edit 5d1c07e2 --tier session --confidence 0.7",),
    "graph rm": ("rlm graph rm 5d1c07e2",),
    "graph relink": ("rlm graph relink 77c0a1b3 --weight 2.5 --label causes",),
    "graph unlink": ("rlm graph unlink 77c0a1b3", "rlm graph unlink --between 5d1c07e2 9a20b3f4"),
    "graph edges": ("rlm graph edges --node 5d1c07e2 --direction out",),
    "graph history": ("rlm graph history", "rlm graph history 5d1c07e2"),
    "graph consolidate": ("rlm graph consolidate --dry-run",),
    "graph promote": ("rlm graph promote --min-confidence 0.7 --min-accesses 3",),
    "graph decay": ("rlm graph decay --per-month 0.1 --dry-run",),
    "graph undo": ("rlm graph undo 17",),
    "graph copy": ("rlm graph copy backup.db",),
    "ontology stats": ("rlm ontology stats ontology/prov.ttl",),
    "ontology search": (
        "rlm ontology search ontology/prov.ttl activity",
        "rlm ontology search ontology/skos.ttl broad --in localname --limit 5",
    ),
    "ontology describe": ("rlm ontology describe ontology/prov.ttl prov:Activity",),
    "ontology relations": (
        "rlm ontology relations ontology/prov.ttl Activity --direction in",
        "rlm ontology relations ontology/prov.ttl Activity --predicate rdfs:domain",
    ),
    "ontology path": ("rlm ontology path ontology/prov.ttl Person Agent --depth 3",),
    "ontology card": ("rlm ontology card ontology/prov.ttl",),
    "ontology query": (
        'rlm ontology query ontology/prov.ttl "SELECT ?c WHERE { ?c a owl:Class }"',
        "rlm ontology query ontology/prov.ttl @classes.rq --out classes.csv",
    ),
    "pack import": ("rlm pack import core_v1", "rlm pack import team.jsonl --level team"),
    "pack export": ("rlm pack export team.jsonl --name team --key team.pem",),
    "pack verify": ("rlm pack verify core_v1",),
    "pack list": ("rlm pack list",),
    "pack rollback": ("rlm pack rollback core_v1",),
    "pack sign": ("rlm pack sign team.jsonl --seal --key team.pem",),
    "pack keygen": ("rlm pack keygen team.pem",),
    "pack candidates": (
        "rlm pack candidates review.jsonl --threshold 0.7",
        "rlm pack candidates review.jsonl --apply",
    ),
    "logs list": ("rlm logs list --limit 5",),
    "logs show": ("rlm logs show t-4c0e1f --full",),
    "eval": (
        "rlm eval --curriculum docs/curricula/prov_v1.yaml --html report.html",
        "rlm eval docs/curricula/hard_*_v1.yaml --model openai/MODEL --arms off,trained",
        "rlm eval docs/curricula/prov_v1.yaml --arms off,on --trials 3",
    ),
    "setup": ("rlm setup claude --dry-run", "rlm setup codex", "rlm setup cursor --remove"),
    "backup": ("rlm backup memory-backup.db",),
    "doctor": ("rlm doctor", "rlm doctor --fix --db memory.db"),
    "completion": ('eval "$(rlm completion bash)"',),
}
