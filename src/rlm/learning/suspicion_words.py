"""The words by which `suspicion` knows an instruction that hides in data. Texts are compared as
plain words."""

from __future__ import annotations

import re

_TARGET = (
    r"(?:instructions?|prompts?|rules?|guidelines?|directives?|messages?|context|steps"
    r"|constraints?|orders?|policy)"
)
_OLD = (
    r"(?:previous|prior|earlier|above|preceding|existing|former|foregoing|other|all|any|every|the|your|system|initial|"
    r"original|these|those|what|given|safety|of|to|you|come|came|before|developer)"
)
_DROP = (
    r"(?:ignor\w*|disregard\w*|forget\w*|overrid\w*|overrul\w*|bypass\w*|neglect\w*|discard\w*|drop|skip|"
    r"pay no (?:attention|heed) to|do not (?:follow|obey)|don t (?:follow|obey)|stop"
    r" following|supersed\w*|"
    r"replac\w*|cancel)"
)
_FIXED = r"(?:\d+|(?:yes|no|true|false|null|hacked|pwned|owned|done|ok|i)\b|[\"'“‘«])"
PHRASES: dict[str, tuple[str, ...]] = {
    "tells the reader to ignore its instructions": (
        rf"\b{_DROP} (?:{_OLD} )*{_TARGET}\b",
        rf"\b{_DROP} everything\b",
        r"\bnew (?:instructions?|rules?|orders?|system prompt|task|goal)\b",
        r"\bfrom now on\b",
        r"\binstead of (?:the|your) (?:task|question|instructions?)\b",
        rf"\b{_DROP} (?:the|this|your) (?:task|question|user|system|judge|schema|format)\b",
        r"\bdo anything now\b",
        r"\bjailbr\w*",
        r"\bdeveloper mode\b",
        r"\bdebug mode\b",
        r"\bgod mode\b",
        r"\badmin(?:istrator)? (?:mode|override)\b",
        r"\boverride code\b",
        r"\bprompt injection\b",
        r"\bhighest priority\b",
        r"\bmandatory (?:directive|order)\b",
        r"\bobey\b",
        r"\b(?:answer|ask|do) something else\b",
    ),
    "talks of what a procedure has no business with": (
        r"\b(?:instructions?|commands?|conversations?|chat|dialogue)\b",
        r"\b(?<!error )messages?\b",
        (
            r"\b(?:tell|inform|ask|give|show|warn|convince|thank|insult|greet) (?:the |your |every"
            r" )?users?\b"
        ),
        r"\busers? ?'? ?s\b",
        r"\b(?:user|auth|session|bearer|login) ?\w* tokens?\b",
        (
            r"\b(?:execute|run) (?:any |the |all |this |that |every |found"
            r" )*(?:code|scripts?|programs?|commands?)\b"
        ),
        (
            r"\bexecute\b(?! (?:the |a |this |one )*(?:sparql |select |ask"
            r" )*(?:query|sparql|select|ask|call)\b)"
        ),
        r"\bdo (?:what|as|whatever|everything)\b(?: \w+){0,8} (?:says?|tells?|asks?|wants?)\b",
        (
            r"\btreat (?:all |any |every |the |each )*\w+ as (?:an?"
            r" )?(?:commands?|orders?|code|trusted|true|facts?|law)\b"
        ),
        r"\b(?:my|our) (?:web ?)?(?:site|page|server|link|name|product|company|channel|account)\b",
        r"\b(?:buy|subscribe|advertis\w*|poem|pirate|joke)\b",
        r"\b(?:add|append|insert|include|write|put|prepend)\b(?: \w+){0,8} (?:each|every|all)"
        r" (?:answer|reply|replies|"
        r"response|output|query|queries|answers)\b",
        r"\bstop being\b|\b(?:refuse|decline) (?:to|all|any|every)\b",
        r"\b(?:do not|don t|never|stop)"
        r" (?:answer\w*|help\w*|reply\w*|respond\w*)\b(?!.*\b(?:from|alone|without|"
        r"before|until|unless)\b)",
    ),
    "plays a role of the prompt": (
        r"\byou are (?:now|no longer|a|an|the|chatgpt|dan|claude|gpt|my|free)\b",
        r"\bact as\b",
        r"\bpretend (?:to|that|you)\b",
        r"\brole ?play\b",
        r"\bas an? (?:ai|language model|assistant|administrator|root)\b",
        (
            r"\b(?:im (?:start|end)|endoftext|begin (?:of )?(?:system|instructions?|prompt)|"
            r"end (?:of )?(?:system|data|prompt|trajectory|instructions?|context|user|untrusted))\b"
        ),
        (
            r"\b(?:system|developer|hidden|secret)"
            r" (?:prompt|message|instructions?|note|override|update|"
            r"notice|directive|command)\b"
        ),
        (
            r"\b(?:note|message|attention|instruction|memo|notice) (?:to|for) (?:the"
            r" )?(?:assistant|ai|agent|"
            r"model|llm|judge|extractor|reader|system|chatbot|language model)\b"
        ),
        r"\bdear (?:assistant|ai|agent|model|llm|judge)\b",
        r"\b(?:attention|hey|hello) (?:assistant|ai|agent|model|llm)\b",
        (
            r"\b(?:assistant|agent|model|ai|llm|judge|extractor) (?:must|should|shall|has to|needs"
            r" to|will|please)\b"
        ),
    ),
    "gives the answer away": (
        r"\b(?:do not|don t|never|no need to|without) (?:check\w*|verif\w*|validat\w*|search\w*)\b",
        r"\b\d+ as (?:the |an? |your )?(?:\w+ )?(?:answer|count|number|result|total|reply)\b",
        (
            r"\b(?:always|only|just|simply|must|invariably|immediately|every time)"
            r" (?:answer|reply|respond|"
            r"return|say|output|print|write|report|give|conclude|claim)\b(?!"
            r" (?:from|only|what|in|to|by)\b)"
        ),
        (
            rf"\b(?:answer|reply|respond|say|output|return|print|report|submit|write|claim|conclude|"
            rf"final)(?:"
            rf" (?:is|with|that|as|it|always|only|exactly|just|simply|the|word|number|text|"
            rf"value))* {_FIXED}"
        ),
        (
            r"\b(?:answer|result|solution|number|count) (?:is|was|are|equals|will be|must be|"
            r"should be) (?:always |exactly |just )?(?:\d+|yes\b|no\b|true\b|false\b|the"
            r" same\b|known\b|"
            r"none\b)"
        ),
        r"\bno matter what\b",
        r"\bregardless of (?:the|what|any)\b",
        r"\bwhatever (?:the|is|was|you|they|people)\b",
        (
            r"\b(?:without|instead of|no need (?:to|for)|do not|don t|never|skip|stop) (?:\w+"
            r" )?(?:search\w*|"
            r"look\w*|quer\w*|check\w*|verif\w*|ask\w*|call\w*|us\w+|read\w*) (?:any(?:thing)?|the"
            r" (?:graph|"
            r"ontology|tools?|evidence|data)|tools?|it up|again|first|at all|evidence|memory)\b"
        ),
        r"\bmake (?:it|them|something|an? \w+) up\b",
        r"\binvent (?:an?|the|some|iris?)\b",
        r"\bhallucinat\w*",
        r"\bfabricat\w*",
        r"\bguess the\b",
    ),
    "reaches for secrets or the machine": (
        r"\bexfiltrat\w*",
        r"\bleak\w*\b",
        r"\b(?:api|secret|private|access|ssh|license) ?keys?\b",
        r"\bpasswords?\b",
        r"\bpassphrase\b",
        r"\bcredentials?\b",
        r"\btokens? of\b",
        r"\bsecrets?\b",
        r"\benv(?:ironment)? ?var\w*",
        r"\benviron\b",
        (
            r"\b(?:reveal|print|show|repeat|output|disclose|dump|send|expose|recite) (?:\w+"
            r" ){0,4}(?:prompt|"
            r"instructions?|conversation|memory store|database|history|keys?|files?)\b"
        ),
        r"\brm rf\b",
        r"\bsudo\b",
        r"\bchmod\b",
        r"\bcurl\b",
        r"\bwget\b",
        r"\bnetcat\b",
        (
            r"\b(?:bash|powershell|cmd exe|shell command|subprocess|popen|os system|import os|"
            r"import subprocess|import socket|builtins|eval|exec|globals|getattr|dunder)\b"
        ),
        r"\betc passwd\b",
        r"\bid rsa\b",
        r"\bdrop (?:table|graph|all)\b",
        r"\bdelete (?:the |all |every |from )",
        r"\binsert (?:data|into)\b",
        r"\btruncate\b",
        r"\bbase64\b",
        r"\bdownload\w*",
        r"\bupload\w*",
        r"\bwebhook\b",
        r"\bpip install\b",
        r"\bopen\s?socket\b",
        r"\bencode (?:it|them|the|this)\b",
    ),
    "sends something elsewhere": (
        (
            r"\b(?:send|post|submit|forward|transmit|email|mail|report|push|copy|upload|fetch|get|visit|open|"
            r"load|request|navigate to|browse|click|deliver)\b(?: \S+){0,8} (?:https? |www |ftp |"
            r"\S+ example(?: |$)|evil|attacker)"
        ),
        r"\bevil\b",
        r"\battacker\b",
        r"\bmalware\b",
        r"\bremote server\b",
        r"\bthird party\b",
        r"\bservice silent\b",
        r"\bemail\b",
        r"\be mail\b",
    ),
    "wants to steer memory or the judge": (
        r"\b(?:verdicts?|graders?|evaluators?|judges?|judged|criteri(?:on|a)|success(?:es)?)\b",
        (
            r"\b(?:store|save|keep|remember|memori[sz]e|record|persist) (?:this|it|that|the"
            r" following|these words)\b"
        ),
        (
            r"\b(?:store|save|remember|memori[sz]e|record|keep|add|persist|write|copy|"
            r"insert)\b(?: \S+){0,6} (?:memory|memories|verbatim|this"
            r" (?:text|sentence|message|instruction|"
            r"note)|procedure forever|word for word)"
        ),
        r"\b(?:verbatim|word for word)\b",
        r"\bmem add\b",
        r"\bmemory add\b",
        r"\bmem extract\b",
        r"\bmem learn\b",
        r"\bis success\b",
        (
            r"\b(?:mark|judge|rate|grade|score|consider|treat|count|label|classify|set|"
            r"declare)\b(?: \S+){0,6} (?:success(?:ful)?|passed|correct|high"
            r" confidence|trusted|verified|"
            r"universal)\b"
        ),
        r"\bconfidence (?:to|of|is|1|high)\b",
        r"\btrust(?:ed)? (?:is|this|level|true|me|memory|source)\b",
        r"\bquarantine\w*",
        (
            r"\bthis (?:memory|procedure|item) (?:is|has been|was)"
            r" (?:trusted|verified|approved|official)\b"
        ),
        (
            r"\b(?:delete|remove|archive|erase|forget|wipe|purge) (?:\w+"
            r" ){0,3}(?:memor\w+|procedures?|items?)\b"
        ),
        r"\buses (?:none|\d)\b",
        r"\brelevant prior experience\b",
    ),
    "speaks another language than its steps": (
        r"\b(?:ignorier\w*|vergiss|missacht\w*) (?:alle|die|deine|alles|bisherig\w*|vorherig\w*)\b",
        r"\bantworte (?:immer|stets|nur)\b",
        r"\bab jetzt\b",
        r"\b(?:ignorez|oubliez|ignore[zs]?) (?:toutes|les|vos|tes|tout)\b",
        r"\breponds? (?:toujours|uniquement)\b",
        r"\brepondez (?:toujours|uniquement)\b",
        r"\b(?:ignora|olvida|ignore) (?:todas?|las|los|tus|todo)\b",
        r"\bresponde (?:siempre|solo)\b",
        r"\b(?:ignora|dimentica) (?:tutte|le|tutto)\b",
        r"\brispondi (?:sempre|solo)\b",
        r"\bignore (?:todas|as) (?:as )?instrucoes\b",
        r"\bresponda sempre\b",
        r"\bneg(?:eer|eert) alle\b",
        r"\bantwoord altijd\b",
    ),
}
"""Why, and the words that say so."""
SIGNS: list[tuple[str, int, tuple[str, ...]]] = [
    (
        "plays a role of the prompt",
        re.IGNORECASE | re.MULTILINE,
        (
            (
                r"^\s*(?:[-*>#\d.)]+\s*)*[\[<(*_`{|]*\s*/?(?:system|assistant|human|user|developer|tool|function|"
                r"inst|sys|admin|judge|prompt|instructions?)\b\s*[\]>)*_`}|]*\s*[:>|\]]"
            ),
            r"<\|.{0,40}\|>",
            r"<</?\s*SYS\s*>>",
            r"\[/?\s*INST\s*\]",
            (
                r"</?\s*(?:system|assistant|user|human|instructions?|prompt|tool|function_calls?|data|untrusted|"
                r"trajectory)\b[^>]*>"
            ),
            r"^\s*#{1,6}\s*(?:system|instructions?|prompt|assistant|user|new)\b",
            r"[<\u2039\u27e8\u3008\ufe64\uff1c]\s*/",
            r"<[A-Za-z][\w-]*>",
            r"&(?:lt|gt|amp|quot|#x?\w+);",
            r"<!--",
            r"-->",
            r"^\s*-{3,}\s*$",
            r"^\s*={3,}",
        ),
    ),
    (
        "shows a picture or a link",
        re.IGNORECASE,
        (
            r"!?\[[^\]]*\]\(",
            r"<\s*(?:img|a|script|iframe|svg|style)\b",
            r"javascript:",
            r"data:\w+/",
        ),
    ),
    (
        "holds coded text",
        re.IGNORECASE,
        (
            r"(?<![\w/+#:-])(?=[A-Za-z+/]*\d)[A-Za-z0-9+/]{32,}={0,2}(?![\w/])",
            r"(?:\\x[0-9a-f]{2}){3}",
            r"(?:\\u[0-9a-f]{4}){2}",
            r"(?:&#x?\w+;){2}",
            r"(?:%[0-9a-f]{2}){4}",
            r"(?:\b[01]{8}\b ?){3}",
        ),
    ),
    (
        "holds coded text",
        0,
        (r"(?<![\w/+#:-])(?=\w*[a-z]\w*[A-Z]\w*[a-z])[A-Za-z0-9+]{36,}={0,2}(?![\w/])",),
    ),
    (
        "ends the run itself",
        0,
        (
            r"\bFINAL(?:_VAR)?\s*\((?!\s*[a-z_]\w*\s*\))",
            r"\bSUBMIT\s*\(",
            r"\banswer\s*\[",
            r"[\"']ready[\"']",
        ),
    ),
]
"""What is looked for in the text as it stands: why, flags, patterns."""
SQUEEZED = (
    r"ignore(?:all|any|the|your|these)*(?:previous|prior|above|earlier)",
    r"disregard(?:all|any|the|your)*(?:previous|prior|above|earlier)",
    r"forget(?:all|any|the|your)*(?:previous|prior|instructions)",
    r"overrideinstructions",
    r"systemprompt",
    r"alwaysanswer",
    r"alwaysreply",
    r"alwaysrespond",
    r"exfiltrate",
    r"jailbreak",
    r"youarenow",
    r"newinstructions",
    r"answer42",
)
"""The same without any spaces."""
