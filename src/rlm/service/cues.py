"""How a person says that something is settled: patterns of English, with how much each proves.

A sentence is a decision by what it does, not by what it is about. STRONG patterns say so by
themselves ("from now on", "never …"). FAIR ones do unless the sentence doubts, asks or reports
("should", "X instead of Y", an order to use something). FAINT ones are plain statements of how
things are to be ("the threshold applies after merging"): they count unless they tell what was seen.
What they were tried on, and the figures, are in docs/experiments.md.
"""

from __future__ import annotations

import re
from enum import IntEnum


class Strength(IntEnum):
    """How much a cue proves by itself."""

    NONE = 0
    FAINT = 1
    FAIR = 2
    STRONG = 3


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.VERBOSE | re.IGNORECASE)


FILLER = _pattern(r"""
    (?:(?:ok(?:ay)?|so|well|hm+|ah|oh|um+|and|but|also|alright|right|fine|cool|great|nice|good|
    perfect|hi|hey|hello|
    please|pls|then|yeah|yes|yep|yup|sure|thanks|thank\ you|got\ it|fwiw|btw|fyi|note|remember|
    again|
    sorry|look|listen|anyway|plus|oh|true|agreed|exactly|correct|one\ more\ thing|to\ be\ clear|
    just\ to\ be\ clear|for\ the\ record|important|in\ that\ case|first(?:ly)?|second(?:ly)?|
    finally|next|in\ general|generally|basically|definitely|i\ think|i'd\ say|imo|imho|
    i\ believe|just|simply|as\ discussed|as\ agreed)\b[\s,.:;!–—-]*)+
    """)  # fmt: skip
"""What may stand before the sentence proper. It is left out only to see how the sentence begins."""

QUESTION = _pattern(r"\?[\s\"')\]*_]*$")
POLITE = _pattern(r"""
    ^(?:can|could|would|will)\ (?:you|we)\ (?:please\ )?(?:not\b|stop\b|always\b|never\b|
    (?:use|keep|do|put|make|name|call|return|log|store|leave)\b.*\b(?:instead|not|rather|always|
    from\ now\ on)\b)
    | \b(?:instead|always|never)\b[^?]*,?\ please\?$
    """)  # fmt: skip
"""A question that is an order."""

DOUBT = _pattern(r"""
    \b(?:maybe|perhaps|not\ (?:yet\ )?(?:sure|certain|decided|convinced)|
    (?<!you're\ )(?<!if\ )(?<!when\ )(?<!are\ )unsure|undecided|
    i\ wonder|wondering|
    might\b|may\ be\ (?:able|possible|worth|too)|what\ if|we\ could|could\ (?:we|also|be|just|
    try|work|even)|
    one\ (?:option|idea|possibility|alternative|thought|way)|another\ (?:option|idea|way|
    thought)|alternatively|
    i\ (?:guess|suppose)|no\ idea|(?:do\ not|don't)\ know|dunno|let'?s\ (?:see|watch|monitor|
    observe|wait\ and|sleep|park|think|discuss|
    talk|look|check|find|try|revisit)|
    let\ me\ (?:think|check|see|look|know|ask|try)|tbd|haven't\ decided|(?:didn't|
    did\ not)\ decide|on\ the\ fence|
    (?:was|were|am|i'm|been|are|we're)\ (?:thinking|considering|wondering|tempted|leaning|toying)|
    thought\ (?:about|of)|considered|curious|what\ do\ you\ think|thoughts|would\ it|
    is\ it\ (?:possible|worth)|
    hypothetically|in\ theory|tempting|probably|
    used\ to|would\ love|disagrees?|on\ the\ (?:one|other)\ hand|in\ an\ ideal\ world)\b
    | ^(?:i|we)(?:'d|\ would)\b.*\bbut\b | ^(?:i've|we've|i\ have|we\ have)\ (?:seen|had|been|
    heard|tried|used)\b | (?:\.\.\.|…)\W*$
    """)  # fmt: skip

SEEN = _pattern(r"""
    ^(?:i|we|you|they|users?|customers?|support|somebody|someone|people|the\ (?:customer|user|
    client|log|logs|ci|build|pipeline|job|test|tests|output|page|diff|trace))\s
    (?:still\ |just\ |now\ |also\ |have\ |has\ |had\ |can\ |always\ |never\ |only\ )*
    (?:see|saw|get|got|getting|notice|noticed|ran|tried|found|reported|report|complain|complained|
    fails?|failed|crash|crashed|breaks?|broke|hangs?|hung|says?|said|shows?|showed|prints?|
    printed|returns?|returned|
    looks?|looked|seems?|was|were|did|wrote|added|changed|removed|forgot|missed|opened|merged|
    pushed|deployed|pulled|upgraded|read|passes|passed|works?|worked|came|went|took|takes)\b
    | ^(?:ah|oh|aha|i\ see)\b[,\ ]+(?:ok|okay|right|i\ see|that|so\ that|yes) | \baccording\ to\b
    | \b(?:traceback|stack\ ?trace|segfault|works\ (?:now|fine|locally|for\ me)|still\ (?:fails?|
    failing|broken|see|get|getting|wrong|red)|
    stopped\ working|looks\ (?:good|fine|ok|okay|right|great|like)|seems\ (?:to|like|that|fine|
    ok|good)|
    \#\d+|should\ have\ \w+(?:ed|en)|but\ (?:it|that|they|instead\ it|the\ \w+)?\ ?(?:returns?|
    returned|shows?|gives?|got|was|were|does(?:n't)?|did(?:n't)?|crash\w*|fails?)|
    yesterday|last\ (?:night|week|month|time)|this\ morning|(?:just|i've)\ (?:pushed|merged|
    deployed|updated|checked|looked|read|ran|tried)|
    expected\b.*\bgot|no\ errors?\ (?:now|anymore)|all\ green)\b
    """)  # fmt: skip
"""What tells what was observed or done."""

OBSERVED = _pattern(r"""
    \b(?:fails?|failed|failing|broken?|crash(?:es|ed|ing)?|errors?\ out|exception|bug|throws?|
    threw|hangs?|hung|timed\ out|
    (?:we|i|they|there(?:'s|\ is|\ are)?)\ only\ (?:have|has|had)|these\ days|mostly|most\ of|
    currently|at\ the\ moment|right\ now|today|flaky|green|red|slow(?:er)?|weird|strange|odd|
    confusing|nice|
    same\ error|doesn't\ work|not\ working|isn't\ working|happened|was|were|had|did|went|came|got|
    (?:it|that|this|there)\ (?:is|was)\ (?:a|an|the|already|where|why|what|how|because|
    not\ clear|strange))\b
    """)  # fmt: skip
"""Words of observation, which speak against a plain statement only."""

CHORE = _pattern(r"""
    ^(?:(?:now|just|quickly|please|can\ you|could\ you|would\ you|let's|lets|go\ ahead\ and|
    you\ can|i\ want\ you\ to|i'd\ like\ you\ to|i\ need\ you\ to|we\ need\ to|we\ should|
    you\ should|i\ need\ to|i\ want\ to|i'd\ like\ to|i'll|i\ will|i\ have\ to|i\ must|i\ should|
    i'm\ going\ to|time\ to|don't\ forget\ to)\s+(?:now\s+|also\s+|please\s+|then\s+|first\s+|
    just\s+)*)?
    (?:add|fix|write|run|rerun|re-run|show|look|check|create|implement|refactor|update|
    commit(?!\ messages?)|
    push|open|explain|find|list|print|
    test|try|install|start|continue|proceed|carry|go\ on|go\ ahead|read|review|investigate|debug|
    generate|build|deploy|merge\ (?:it|this|that|main|the\ (?:pr|branch))|
    give|tell|help|describe|summari[sz]e|search|grep|figure|see|get|pull|rebase|bump|upgrade|
    draft|post|reply|close|ship|walk|
    take\ (?:a|another)|have\ a|do\ the|do\ a|do\ it|do\ that|do\ this|finish|wrap\ up|clean\ up|
    tidy\ up|
    benchmark|profile|measure\ how|compare|verify|confirm|double-check|ping|wait|think|remind|
    tag|cut|
    make\ (?:a|an|it\ (?:so|work|compile|build|pass|green)|the\ (?:tests?|build|change|changes|
    fix|edit|edits|ci)\b|sure\ (?:(?:all\ )?(?:the\ )?tests?|it\ (?:works|compiles|builds|passes|
    runs)|nothing\ (?:else\ )?(?:broke|breaks)))|
    set\ up|keep\ going|keep\ (?:it\ up|me\ posted|at\ it)|put\ (?:up|together)|leave\ (?:it|
    that|this)(?:\ (?:there|for\ now|here))?$|
    return\ to|log\ (?:in|out)|start\ over|call\ it\ a\ day|use\ this\ (?:chance|time)|rename|
    move\ on|drop\ (?:me|a\ note))\b
    """)  # fmt: skip
"""An order to do something once."""

ONCE = _pattern(r"""
    ^(?:please\ |now\ |just\ |and\ )*(?:run|rerun|re-run|commit(?!\ messages?)|push|look|check|
    explain|fix|investigate|debug(?!\ level)|continue|
    proceed|go\ (?:on|ahead)|tell|show\ me|give\ me|open|try|review|merge\ (?:it|this|that)|
    do\ it|ship|test\ (?:it|this|that)|let\ me)\b
    """)  # fmt: skip
"""A chore even where a question was about how something is to be."""

NOTHING = _pattern(r"""
    ^no,?\s*(?:thanks|thank\ you|problem|worries|idea|need\ to\ (?:worry|apologi[sz]e|rush)|
    that's\ (?:all|it|fine|ok|okay)|it's\ (?:fine|ok|okay)|
    go\ ahead|nothing\ else|not\ yet|not\ really|we're\ (?:good|done)|i'm\ (?:good|done)|
    all\ good|more\ questions|doubt|wonder|rush|hurry)\b
    | ^(?:don't|do\ not)\ (?:worry|know|forget|sweat|panic|mind|you\ think|get\ me\ wrong|
    (?:\w+\ ){1,6}yet\b)
    | ^(?:lovely|nice|cool|great|awesome|perfect|wow|phew|seriously|hm+|thanks|yay|ouch|neat|
    excellent|super|wonderful|amazing|beautiful|damn|interesting)\W*$
    | ^question\b | \bask\ me\ (?:again|later|tomorrow) | ^later\b | ^not\ now\b |
    ^(?:no\ preference|up\ to\ you|your\ call|whatever\ you|i\ don't\ (?:care|mind)|
    doesn't\ matter)\b
    | ^never\ mind\b | ^nevermind\b | ^wait\b[\s,.!…]*(?:what|why|how|is|are|does|did|for|
    a\ (?:sec|moment|minute)|let\ me)?\b.*[?…]?$(?<=\?) 
    | ^actually,?\s*(?:yes|that\ works|it\ works|never\ mind|that's\ (?:fine|good|great|nice)|
    i\ (?:see|get\ it))\b
    | ^always\ (?:a\ pleasure|nice|fun|happy)\b
    | ^(?:that|this|it)\ should\ (?:now\ )?(?:work|do|fix|help|be\ (?:fine|it|all|enough|ok|okay|
    good|easy|quick))\b
    | \bshould\ (?:now\ )?(?:pass|work|be\ (?:fine|ok|okay|good|enough|able|done|green|easy|
    quick|possible|there|ready))\b
    | \bmust\ (?:be\ (?:a|an|the|some|something)|have)\b | \bhas\ to\ be\ a\ bug\b
    | ^(?:i|we)\ (?:have\ to|must|need\ to|should)\ (?:go|leave|run|head|catch|think|ask|talk|
    check|find|figure|understand|know|see|look)\b
    | ^you\ (?:should|must)\ (?:see|find|have|get|be\ able|know)\b
    """)  # fmt: skip
"""What looks like a correction or a rule and is none."""

CUES: tuple[tuple[str, Strength, re.Pattern[str]], ...] = (
    ("standing rule", Strength.STRONG, _pattern(r"""
        \b(?:from\ now\ on|going\ forward|from\ here\ on|henceforth|from\ this\ point\ on|
        as\ of\ (?:now|today)|in\ (?:the\ )?future,|
        as\ a\ (?:rule|policy)|house\ rule|rule\ of\ thumb|once\ and\ for\ all|
        without\ exception|no\ exceptions)\b""")),
    ("said to be decided", Strength.STRONG, _pattern(r"""
        \b(?:we|i|the\ team|team|product|legal|security|they|management|ops|finance|(?:we|
        i)\ (?:have|already|finally|now|all|both|just))(?:'ve|\ have|\ has|\ had)?\ (?:now\ |
        already\ |finally\ |just\ |all\ |both\ )*(?:decided|agreed|settled|chose|chosen|picked|
        concluded|ruled)\b
        | ^(?:decision|decided|resolved|verdict|conclusion|final(?:\ decision|\ answer|\ call)?|
        rule|policy|convention|requirement|constraint|spec|invariant)\s*[:–—-]
        | \b(?:it's|it\ is|that's|consider\ it|so\ it's)\ (?:decided|settled|final)\b |
        \bfinal\ (?:answer|decision|call|word)\b | \bit\ is\ then\b
        | \b(?:changed\ (?:my|our)\ minds?|change\ of\ (?:plan|plans|mind|heart)|
        on\ second\ thoughts?|scratch\ that|strike\ that|new\ (?:rule|plan|policy|
        decision))\b""")),
    ("prohibition or duty", Strength.STRONG, _pattern(r"""
        ^(?:don't|dont|do\ not|never|always|stop\ (?:\w+ing|using|doing)|avoid|no\ more|
        under\ no\ circumstances|refrain|at\ no\ point|by\ default|
        (?:you|we)\ (?:must|must\ not|mustn't|never|always|may\ not|may\ only|should\ (?:always|
        never|not)|shouldn't|don't|do\ not|won't|will\ (?:not|never|always|only)|
        only)\b(?!\ (?:have|know|need|see|think|mind|want\ to|get)\b))
        | \b(?:must(?:n't|\ not|\ never|\ always|\ only)?|shall(?:\ not|\ never)?|may\ (?:not|
        only|never)|should\ (?:never|always|only)|(?:is|are)\ (?:not\ |never\ )?to\ be|
        (?:is|are)\ (?:strictly\ |absolutely\ )?(?:forbidden|prohibited|mandatory|
        not\ (?:allowed|permitted|acceptable|negotiable|an\ option))|
        (?:is|are)\ (?:a\ )?(?:no-go|off\ limits|out\ of\ (?:the\ )?(?:question|scope)))\b""")),
    ("choice", Strength.STRONG, _pattern(r"""
        \b(?:let's|lets|let\ us)\ (?:just\ |rather\ |instead\ |please\ |also\ |then\ |simply\ |
        always\ |never\ |only\ )*
        (?:go\ (?:with|for|back)|use|keep|stick|make|not\b|drop|avoid|store|settle|leave|treat|
        default|cap|limit|switch|say|skip|have|put|call|apply|count|round|set|stay|pick|choose|
        take\ (?!a|another)|require|allow|forbid|prefer|ignore|reject|return|do\ (?!the|a\b|it\b|
        that\b|this\b|some\b)|hold\ off|defer|postpone|kill|ditch|retire|standardi[sz]e|reserve|
        expire|charge|bill|emit|log|name|fall|fail|bump\ it|lower|raise|increase|reduce|accept|
        support|pin|freeze|hash|encrypt|sort|order|split|merge\ (?!it|this|main)|enforce|adopt|
        remove)\b
        | \b(?:we'll|we\ will|i'll|i\ will|i'd|we'd|i\ would|we\ would|we|i|please)\ (?:rather\ |
        just\ |then\ )?(?:go|going)\ with\b | ^go(?:ing)?\ (?:with|for)\b
        | \b(?:we|i)(?:'ll|\ will|'re\ going\ to|\ are\ going\ to)\ (?:only\ |not\ |never\ |
        always\ |just\ )*(?:use|keep|store|stick|treat|apply|count|round|default|cap|limit|
        require|allow|drop|support|stay|call|charge|bill|retry|cache|expose|reject|ignore|accept|
        pin|switch\ to|do\ without)\b
        | ^(?:i'd|i\ would|we'd|we)\ (?:rather|prefer)\b | \bi\ (?:strongly\ )?prefer\b |
        \bour\ preference\b | ^prefer\b
        | \b(?:it|that)\ is,?\ then\b | \w\ it\ is[.!]?$ | ^(?:option|variant|approach|plan|
        alternative|number|choice)\ (?:[a-e]|\d|one|two|three)\b
        | ^the\ (?:first|second|third|last|latter|former|other|left|right|top|bottom)(?:\ (?:one|
        option|approach|variant|version|way|proposal|alternative))?\s*(?:[,.;:!–—-]|$|
        please)""")),
    ("correction", Strength.STRONG, _pattern(r"""
        ^(?:no|nope|nah|no\ no|not\ (?:quite|like\ that|that|there|what\ i)|wrong|incorrect|
        that's\ (?:not|wrong|incorrect|the\ wrong|backwards)|that\ is\ (?:not|wrong)|that\ isn't|
        this\ (?:is|isn't)\ (?:not|wrong|right|the\ wrong|what\ i)|you've\ (?:got|misunderstood|
        swapped|mixed)|you\ (?:misunderstood|swapped|mixed|misread|got)|i\ (?:meant|said|
        told\ you|asked\ for|never\ (?:said|asked))|
        correction|other\ way\ (?:a?round)|the\ other\ way|it's\ the\ other\ way|revert\ (?:that|
        this|it)|undo\ (?:that|this|it)|actually|(?:wait|hold\ on|stop)(?=\s*(?:[,.!:;–—-]|
        no\b)))\b(?:[\s,.:;!–—-]|$)
        | \b(?:not\ what\ i\ (?:meant|asked|wanted)|the\ other\ way\ a?round|
        is\ backwards)\b""")),
    ("should", Strength.FAIR, _pattern(r"""
        \b(?:should(?:n't|\ not)?|ought\ (?:not\ )?to|ha(?:s|ve)\ to|needs?\ to|(?:is|
        are)\ (?:not\ )?(?:supposed|meant|expected|allowed|required|intended)\ to|can\ only|
        cannot\ be|can't\ be|can\ never|
        (?:is|are)\ (?:required|optional|allowed|permitted|fine\ as\ is)|won't\ be|
        will\ (?:never|always|only)|has\ priority|need\ not|needn't)\b""")),
    ("contrast", Strength.FAIR, _pattern(r"""
        ,\s*(?:and\ |but\ )?(?:not|never|no\ longer)\ [\w"“'`] | \bnot\ .{2,60}?\bbut\b\ \w |
        \b(?:instead|rather\ than|as\ opposed\ to|in\ place\ of|no\ longer|any\ ?more|
        over\ and\ above)\b
        | \b(?:(?:isn't|aren't|is\ not|are\ not|not)\ (?:good\ )?enough|unacceptable|
        not\ acceptable|(?:won't|doesn't|don't)\ (?:do|fly|cut\ it|scale))\b
        | ^not\ (?!yet|sure|really|bad|now|for\ now|at\ all|too|that\ i|much|necessarily|only|
        as\b|all\b|every|urgent)\w
        | \bprefer\w*\ .+\bover\b | \binsteadof\b""")),
    ("rule in words", Strength.FAIR, _pattern(r"""
        \b(?:the|our|my)\ (?:\w+\ )?(?:rule|policy|convention|order|plan|default|limit|threshold|
        spec|requirement|contract|format|deal|invariant|standard|idea|goal|decision|approach|
        cutoff|cut-off)\ (?:is|here\ is|stays|remains|becomes|will\ be|for)\b
        | \b(?:limit|cap|max|maximum|minimum|min|timeout|time-out|threshold|default|ttl|window|
        size|budget|retention|quota|rate|interval|delay|period|deadline|cutoff|cooldown|backoff|
        ceiling|floor|tolerance|precision)\b[^.?!]{0,40}?\b(?:is|are|=|stays|becomes|at|to|
        of)\ (?:\$|€|£)?\d
        | \b(?:we|i)\ (?:want|need|expect|require|insist|like)\ (?!to\ (?:see|know|understand|
        check|ask|try|add|discuss|talk|look|find|figure|fix|make\ sure|get|run|test|write|
        do)\b)(?!you\ to\ (?:add|fix|write|run|look|check|create|implement|update|show|explain|
        review|open|test)\b)(?!a\ (?:pr|test|fix|look|second|minute|moment)\b)(?!this\ (?:fixed|
        done|merged|shipped)\b)(?!more\ (?:time|info))(?!(?:it|that|this|the\ idea)\b)\w
        | ^(?:we|in\ this\ (?:repo|project|codebase|team|module|service)\ we|here\ we|
        around\ here\ we)\ (?:use|keep|store|prefer|follow|require|treat|allow|support|ship|log|
        round|count|apply|default|name|write|put|pin|run|version|target|format|
        commit(?!\ messages?)|squash|
        rebase|test|call|return|bill|charge)\b
        | \b(?:everywhere|across\ the\ board|in\ all\ cases|no\ matter\ what|regardless)\b
        | \b(?:max|min|at\ most|at\ least|up\ to|no\ more\ than|no\ less\ than|
        not\ more\ than)\.?\ \d
        | ^(?:ok(?:ay)?|fine|good|alright|all\ right|yes|yeah|sure|right)\b[,.]?\ (?:then\ \w|
        .+\bthen[.!]?$)
        | \bin\ this\ (?:repo|project|codebase|team|module|service)\b | ^same\ (?:for|goes|
        applies|rule|with|thing|in)\b | ^(?:likewise|ditto)\b""")),
    ("order", Strength.FAIR, _pattern(r"""
        ^(?:use|prefer|keep|treat|stick|ignore|default|round|cap|limit|apply|count|store|reject|
        require|allow|forbid|return|log|name|call|leave|only|put|place|include|exclude|skip|drop|
        expose|hide|cache|
        retry|set|make|ensure|let|assume|respect|preserve|truncate|sort|order|charge|bill|send|
        emit|mark|fall\ back|fail|accept|go\ by|stay|remove|delete|disable|enable|turn\ (?:on|
        off)|pin|hash|encrypt|
        mask|redact|validate|normali[sz]e|escape|expire|rotate|throttle|debounce|batch|lock|
        wrap\ up|
        prefix|suffix|measure|group|key|scope|index|switch|replace|merge|split|dedupe|
        deduplicate|compute|calculate|
        derive|read\ (?:it|them)\ from|write\ (?:it|them)\ (?:to|as|in)|document|deprecate|
        freeze|defer|postpone|hold|raise|throw|warn|do\ (?:it|that|this|them|not)\b|be\b|take\b|
        have\b|show\b.*\bonly|give\ .*\b(?:priority|precedence)|
        swap|flip|invert|lower|increase|reduce|bump\ .*\bto\b|move\ (?!on)|rename|convert|format|
        serve|persist|resolve|snap|pad|trim|clamp|spread|reserve|block|whitelist|allowlist|
        denylist|blacklist|quote|strip|start\ (?:at|from|with)|stop\ (?:at|after)|end\ (?:at|
        with)|restrict|separate|isolate|share|reuse|copy|link|map|encode|bind|tie|attach|notify|
        alert|page|queue|schedule|refund|credit|close\ .*\bafter|give\ up)\b(?!\ me\b)""")),
    ("statement", Strength.FAINT, _pattern(r"""
        \b(?:appl(?:y|ies)|counts?|belongs?|wins?|beats?|overrides?|takes?\ (?:precedence|
        priority)|happens?|runs?|comes?|goes|go|stays?|remains?|expires?|starts?|ends?|resets?|
        defaults?|falls?\ back|gets?|lives?|means?|includes?|excludes?|covers?|inherits?|rounds?|
        sorts?|keeps?|uses?|requires?|carr(?:y|ies)|drops?|survives?|propagates?|cascades?)\s
        (?:only|first|last|before|after|once|twice|per|never|always|at|up|to|in|into|under|on|
        off|over|from|by|with|without|for|every|each|the|a|an|its|their|as|it|all|both|no|
        not|when|if|whenever|until|unless|separately|together|even|either|nothing|everything|\d)\b
        | \b(?:is|are|stays?|remains?|gets?|be|becomes?)\ (?:only\ |always\ |never\ |not\ |
        still\ |just\ |then\ |also\ |simply\ )*(?:per|before|after|first|last|once|inclusive|
        exclusive|optional|required|mandatory|allowed|forbidden|ignored|capped|rounded|kept|
        dropped|excluded|included|counted|stored|logged|sorted|applied|treated|charged|billed|
        refunded|retried|cached|computed|calculated|measured|rejected|accepted|skipped|deleted|
        archived|hashed|encrypted|masked|redacted|validated|normali[sz]ed|truncated|immutable|
        idempotent|read-only|case-insensitive|case-sensitive|half-open|zero-based|nullable|
        unique|opt-in|opt-out|enough|plenty|sufficient|fine|ok|okay|in\ (?:utc|cents|bytes|
        seconds|milliseconds|
        scope)|the\ (?:default|source\ of\ truth|owner|key|limit|maximum|minimum|only)|up\ to|
        at\ (?:most|least)|limited|based\ on|by|relative|derived|determined|scoped|keyed|grouped|
        owned|shared|reserved|frozen|locked|disabled|enabled|on|off|free|internal|public|private|
        synchronous|asynchronous|async|sync|a\ (?:warning|hard|soft|no-op|conflict|duplicate|
        separate|single))\b
        | ^(?:only|no|nobody|nothing|any|every|each|all|both|neither|one|two|three|four|five|six|
        seven|eight|nine|ten|\d\w*|anything|
        everything|whoever|whatever|whichever|at\ (?:most|least))\b.{8,}
        | ^(?:if|when|whenever|unless|once|for\ (?:every|each|all|any)|in\ case|on\ (?:error|
        failure|conflict|timeout|retry|delete|update|restart)|until|while|as\ (?:long|soon)\ as|
        after|before)\b[^,]{3,},\s*\w
        | \b(?:never|always|only)\ \w | \b(?:wins|loses)[.!]?$
        | ^\d[\d.,:]*\s?(?:%|\w{1,12})?[.!]?$
        | \b(?:can|may)\ (?:be\ \w+(?:ed|en)|stay|remain)\b""")),
)  # fmt: skip
"""In order: the first that fits names the decision."""

REQUIRED_OF_FIRST = Strength.STRONG
"""A session's first prompt is a task; of it only what is plainly a rule counts."""

CHORE_QUESTION = _pattern(r"""
    \b(?:shall\ i|should\ i|want\ me\ to|do\ you\ want\ me\ to|would\ you\ like\ me\ to|may\ i|
    can\ i)\s+(?:now\ |also\ |go\ ahead\ and\ |then\ )?(?:continue|proceed|run|
    commit(?!\ messages?)|push|start|
    open|write|add|fix|take|create|go|implement|update|look|check|try|do\ (?:this|that|it)|
    clean\ up|
    refactor|investigate|draft|post|merge|deploy|rerun|apply\ (?:it|this|that|these))\b
    | \b(?:can|could)\ you\ (?:paste|share|send|show|tell|confirm|provide|run|give|check|point|
    describe|clarify\ which\ file) | \banything\ else\b | \b(?:does|did)\ (?:this|that|
    it)\ (?:help|work|look|make\ sense|fix|happen)\b
    | \bwhat\ (?:error|version|command|os|output|exactly|browser|branch|python)\b | \b(?:did|
    have)\ you\b | \bare\ you\ (?:seeing|running|on|using|sure)\b | \bwhere\ (?:is|
    are)\ (?:the\ )?(?:file|log|logs|config|repo|code|tests?)\b | \bwhen\ did\b |
    \bhow\ can\ i\ help\b | \bready\ (?:to|for)\b
    | \b(?:what|how)\ (?:do|did|does)\ (?:you|it)\ (?:see|get|say|look|reproduce|run)\b |
    \b(?:where|how)\ (?:do|does|is|are)\ .*\b(?:live|come\ from|used|called|defined|deployed|
    configured)\b | \bdo\ (?:you|we)\ (?:already\ |still\ |currently\ )?(?:have|use|know|run)\b |
    \bis\ there\ (?:already\ )?(?:a|an|any)\b | \b(?:currently|at\ the\ moment)\b |
    \bis\ (?:that|this|it)\ (?:reproducible|what\ you\ (?:see|meant|mean)|correct|right)\b |
    \bwhich\ (?:file|branch|test|environment|machine|commit)\b
    """)  # fmt: skip
PROPOSAL = _pattern(r"""
    \b(?:i(?:'d|\ would)?\ (?:suggest|propose|recommend|lean)|my\ (?:suggestion|proposal|
    recommendation|preference)|how\ about|what\ about|we\ could|should\ (?:we|the|it|they|all|
    each|every)|shall\ we|let's|
    option\ \w|so\ (?:the\ rule|to\ confirm|then|that\ means)|to\ confirm|would\ (?:you\ like|
    it\ be)|the\ (?:plan|rule|approach|proposal|idea)\ would|
    i(?:'ll|\ will|'d|\ would|\ can|\ could)\ (?:then\ )?(?:use|keep|treat|apply|cap|limit|store|
    round|count|default|make|return|reject|drop|skip|set|put|name|log|cache|charge|retry|switch|
    ignore|mark|only|always|never|exclude|include|expire|sort|split|move)|
    (?:shall|should)\ i\ (?:then\ )?(?:use|keep|treat|apply|cap|limit|store|round|count|default|
    make|return|reject|drop|skip|set|put|name|log|cache|charge|retry|switch|ignore|mark|only|
    always|never|exclude|include|expire|sort|split))\b
    """)  # fmt: skip
ACCEPTANCE = _pattern(r"""
    ^(?:(?:ok(?:ay)?|yes|yep|yeah|yup|sure|agreed|exactly|correct|right|perfect|great|good|fine|
    deal|absolutely|definitely|please|do|go|that|it|this|sounds|works|makes|i|we|let's|like|lgtm|
    ship|for|me|with|sense|good|the\ way\ to\ go|idea|ahead|agree|is|that's|what|want|wanted|to|
    all|of|by\ all\ means|happy|call|plan|then|thanks|thank\ you|one|so|be|make|👍|\+1|as|you|
    proposed|suggested|suggest|propose|say|said|put|a|and|way|fair|enough|
    point)\b[\s,.!–—-]*){1,10}$
    """)  # fmt: skip
YES = _pattern(r"""
    \b(?:ok(?:ay)?|yes|yep|yeah|yup|sure|agreed?|exactly|correct|right|perfect|great|good|fine|
    deal|
    absolutely|definitely|do\ (?:it|that|so)|go\ ahead|works|makes\ sense|lgtm|fair)\b|👍|\+1
    """)  # fmt: skip
REFUSAL = _pattern(r"^(?:no|nope|nah|neither|none|not\ (?:needed|necessary)|never)[\s.,!]*$")


def begin_of(sentence: str) -> str:
    """A sentence from where it begins to say something: without greetings and fillers."""
    found = FILLER.match(sentence)
    return sentence[found.end() :] if found else sentence


def find_cue(sentence: str) -> tuple[str, Strength]:
    """The cue by which a sentence decides something; ('', NONE) when it does not."""
    text = sentence.replace("\u2019", "'").strip()
    head = begin_of(text)
    if not head or (QUESTION.search(text) and not POLITE.search(head)):
        return "", Strength.NONE
    if NOTHING.search(head):
        return "", Strength.NONE
    if POLITE.search(head):
        return "order", Strength.FAIR
    doubts, tells = DOUBT.search(text), SEEN.search(head) or SEEN.search(text)
    for name, strength, pattern in CUES:
        if not (pattern.search(head) or (strength > Strength.FAINT and pattern.search(text))):
            continue
        if strength is Strength.STRONG and not (tells and name != "said to be decided"):
            if doubts and name in ("correction", "choice"):
                continue
            return name, strength
        if doubts or tells or (CHORE.match(head) and name != "contrast"):
            continue
        if strength is Strength.FAINT and OBSERVED.search(text):
            continue
        return name, strength
    return "", Strength.NONE


EVALUATES = _pattern(r"""
    \b(?:would\ be|feels?|sounds?|ugly|awful|terrible|fancy|overkill|annoying|painful|expensive|
    simple|hard\ to|is\ (?:too|a\ bit|quite|very|pretty|more|so|really)|
    are\ (?:too|a\ bit|quite|very|pretty|so)|seems?|interesting|cool|nice|hate|love|like\ that|
    worr(?:y|ied)|because|why)\b
    """)  # fmt: skip
"""What weighs a proposal, and does not take it."""
CLAUSE = _pattern(r"""
    ^(?!(?:it|they|those|these|that|both|all|neither|the\ user|users|we|you|every|each|any|no|
    only|
    nobody)\b)[\w'/-]+(?:\s[\w'/.-]+){0,5}?
    (?:\s(?:(?:is|are)(?!\ (?:never\ |always\ |not\ |only\ )?\w+ed\b)|was|were|has|have|had|does|
    do|did|can|could|will|would|might|may|isn't|aren't|doesn't|don't|didn't|can't|won't|wants?|
    says?|
    said|thinks?|needs?|likes?|knows?|means?|seems?|makes?|gets?|comes?|goes|works?|handles?|
    happens?|
    arrives?|breaks?|uses?|takes?|lasts|costs?|runs?|compares?|disagrees?)\b|'(?:s|re)\s)
    """)  # fmt: skip
"""A whole sentence with a subject of its own: what is told as a fact, and not the piece that is
missing in a question."""
