"""The words of plain questions and what each one says, as one letter, for `frames`.

Letters: c class, r property, j J K object, datatype, annotation property, n instance, t term, k
kinds; s subclasses, S descendants, p superclasses, P ancestors, v inherits from, g subsumes, b
below, a above, U subClassOf; d domain, e range, B subject, O value, m applies to, f points to, T of
type; h path, l related, < from, > to; N namespace, o root, q triples; z definition, Q "what is", Y
yes or no, # how many, 0 none, A as, w whose, H have, L name or label, M contains, 1 starts with, 2
ends with, y occurs, F search, R up to the root, _ a courtesy. Levels: ! all, ' direct, ^ inherited.
"." is a word of no weight, "," one that joins, ";" an article.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

from rlm.llm.offline.asked.kinds import REQUESTS

# -- Phrases of plain questions that are made of pieces: "at any level", "including the inherited
# ones".


_WITH = "including incl plus counting with and also"
_MADE: tuple[tuple[str, ...], ...] = (
    (
        "G",
        "can could",
        "i one we you",
        "say state record assert attach set add",
        "about of on to for",
    ),
    (
        "G",
        "can~be could~be may~be",
        "said stated asserted expressed attached noted stored set added",
        "about of on to for",
    ),
    (
        "!",
        "at on of to over across through ~",
        "all any every each whatever arbitrary",
        "level levels depth depths generation generations",
    ),
    (
        "!",
        _WITH,
        "the all ~",
        """
        indirect~ones nested~ones transitive~ones deeper~ones indirect nested transitive indirect~subclasses
        indirect~superclasses sub-subclasses grandchildren subclasses~of~subclasses their~subclasses
        """,
    ),
    (
        "^",
        _WITH,
        "the all those ~",
        """
        inherited inherited~ones inherited~properties of~its~superclasses from~its~superclasses of~superclasses
        from~superclasses of~its~subclasses from~its~subclasses of~subclasses from~subclasses of~its~parents
        """,
    ),
)
"""Phrases made of pieces: the letter, and what may stand first, second and so on; "~" alone is no
word."""


def phrases() -> Iterator[tuple[str, str]]:
    """Each phrase, and its letter (see `words`)."""
    for letter, *pieces in _MADE:
        for made in product(*(piece.split() for piece in pieces)):
            yield " ".join(made).replace("~", " ").strip().replace("   ", " "), letter


_LETTERS: dict[str, str] = {
    "c": "class classes concept concepts category categories owl~class owl~classes type~of~class",
    "r": (
        """
property properties attribute attributes predicate predicates relation relations relationship relationships field
fields slot slots props prop attrs attr characteristics rdf~property rdf~properties data~and~object~properties
"""
    ),
    "j": "object~property object~properties object-properties",
    "J": "datatype~property datatype~properties data~property data~properties data~type~properties",
    "K": "annotation~property annotation~properties",
    "n": (
        """
instance instances individual individuals member members example examples named~individual named~individuals
concrete~examples class~members instance~data occurrences exemplars instantiations
"""
    ),
    "t": (
        """
term terms entity entities thing things resource resources element elements item items node nodes something anything
objects those
"""
    ),
    "k": (
        """
kinds sorts varieties types kind sort variety different~kinds different~types forms~of~the variants versions
"""
    ),
    "s": (
        """
subclasses subclass sub-classes sub-class subtypes subtype sub-types sub-type children child subconcepts subcategories
subcategory specialisations specializations specialisation specialization hyponyms subkinds sub~classes sub~class
sub~types sub~type child~class child~classes child~concepts child~nodes child~concept narrower~class narrower~classes
narrower~concepts narrower~terms narrower~concept narrower~term more~specific~classes more~specific~class
more~specific~concepts more~specific~types derived~classes direct~descendants immediate~descendants direct~descendant
children~classes sub~concepts sub~concept more~specialised~classes more~specialized~classes subordinate~classes
lower~classes specialised~classes specialized~classes subclass~relations child~terms child~term more~specific~terms
more~specific~term subs subdivisions specialised~forms specialized~forms subterms sub-concepts subclass~children kids
"""
    ),
    "S": (
        """
descendants descendant descendents subtree sub-tree offspring subhierarchy descendant~classes descendant~class
descendent~classes subclass~tree subclass~hierarchy class~hierarchy~under class~tree~under hierarchy~under
hierarchy~below tree~under tree~below branch~under branch~below class~hierarchy~below class~tree~below subtree~under
subtree~below subtree~rooted~at subtree~rooted~in tree~rooted~at hierarchy~rooted~at subtree~of
children~and~grandchildren children~and~descendants subclasses~and~their~subclasses subclasses~and~sub-subclasses
hierarchy~beneath subtree~beneath hierarchy~of class~hierarchy~of class~tree~of taxonomy~of subclass~closure branch~of
hierarchy~starting~at tree~starting~at
"""
    ),
    "p": (
        """
superclasses superclass super-classes super-class supertypes super-types parents parent superconcepts hypernyms
generalisation generalization generalisations generalizations super~classes super~class super~types super~type
parent~class parent~classes parent~concept parent~concepts parent~type broader~class broader~classes broader~concept
broader~concepts broader~term broader~terms more~general~class more~general~classes more~general~concept
more~general~concepts base~class base~classes direct~ancestors direct~ancestor parent~term parent~terms
immediate~ancestors immediate~ancestor parent~node parent~nodes more~general~term more~general~terms supercategory
umbrella~class umbrella~term higher-level~class higher-level~classes parent~category supertype super-type
"""
    ),
    "P": (
        """
ancestors ancestor ancestry lineage forebears ancestor~class ancestor~classes superclass~chain inheritance~chain
superclass~hierarchy chain~of~superclasses chain~of~ancestors inheritance~path chain~of~parents
parents~and~grandparents line~of~ancestors superclass~path inheritance~line parent~chain inheritance~hierarchy
superclass~closure
"""
    ),
    "U": "rdfs:subclassof subclassof",
    "v": (
        """
specialise specialises specialize specializes extend extends specialising extending inherit~from inherits~from
inheriting~from derive~from derives~from derived~from deriving~from descend~from descends~from descended~from
descending~from subsumed~by narrower~than more~specific~than stem~from stems~from inherit inherits derive derived
descended count~as counts~as be~considered be~regarded~as qualify~as qualifies~as refine refines refining descend
descends
"""
    ),
    "g": (
        """
generalise generalises generalize generalizes subsume subsumes broader~than more~general~than wider~than
"""
    ),
    "b": (
        """
one~level~down~from a~level~down~from one~step~down~from below beneath under underneath lower~than hanging~under
sits~under sit~under fall~under falls~under come~under comes~under located~below placed~under found~under found~below
nested~under down~from falling~under downwards downward downwards~from
"""
    ),
    "a": (
        """
one~level~up~from one~up~from a~level~up~from one~step~up~from above higher~than sits~above sit~above located~above
lie~above lies~above on~top~of up~from
"""
    ),
    "d": "domain domains rdfs:domain domain~class",
    "e": "range ranges rdfs:range range~class value~type range~type",
    "B": "subject subjects on~the~left on~the~left~side on~the~left-hand~side as~subject~class",
    "O": (
        """
value values object filler fillers literal literals object~values at~the~other~end on~the~right-hand~side
on~the~right~side
"""
    ),
    "m": (
        """
apply~to applies~to applied~to applicable~to describe describes describing characterise characterize attached~to
attach~to start~from starts~from start~at leave leaving defined~for defined~on declared~for declared~on available~for
available~on specified~for used~with used~on valid~for originate~from originating~from outgoing~from assigned~to
assign~to associated~with used~for used~to~describe pertain~to usable~with usable~on meant~for allowed~for allowed~on
permitted~for possible~for use~with use~on use~for use~to~describe recorded~for go~with set~on originate~in
emanate~from lead~away~from leads~away~from leading~away~from go~out~of goes~out~of going~out~of come~out~of
exit depart~from starting~at can~be~recorded~about can~be~said~about can~be~stated~about can~be~recorded~for
can~be~asserted~about begins~at begin~at beginning~at starts~at fill~in if~i~start~at if~i~start~from
"""
    ),
    "f": (
        """
point~to points~to pointing~to point~at points~at pointing~at lead~to leads~to leading~to refer~to refers~to
referring~to target targets targeting accept accepts accepting expect expects return returns returning pointing~towards
point~towards lead~into leads~into reference references referencing link~to links~to linking~to goes~to go~to
range~over ranges~over ranging~over arrive~at end~at ends~at point~into pointing~into yield yields aim~at reach
directed~at directed~to filled~with filled~by produce produces take takes taking store stores storing hold holds
holding incoming inbound ending~at finishes~at finish~at end~up~at whose~values~belong~to whose~values~are
whose~value~is whose~values~must~be whose~values~come~from
"""
    ),
    "T": (
        """
of~type of~kind typed~as typed~with classified~as rdf:type typed with~type with~rdf:type whose~type~is type
categorised~as categorized~as whose~rdf:type~is instantiate instantiates instantiating belong~to belongs~to
belonging~to belong belongs
"""
    ),
    "h": (
        """
path paths route routes chain chains connection connections link links between connexion chain~of~properties
chain~of~relations chain~of~relationships sequence~of~properties way steps hops get~from navigate~from go~from
walk~from travel~from lead~from leads~from leading~from goes~from traverse~from move~from hop~from bridge trail
"""
    ),
    "l": (
        """
related connected linked relate relates connect connects tied joined joins associated connecting linking relating
bridges interconnected correlated hang~together fit~together belong~together tie~together go~together work~together
interact have~to~do~with has~to~do~with got~to~do~with
"""
    ),
    "<": "from starting~from",
    ">": "to towards into up~to",
    "N": (
        """
namespace namespaces prefix prefixes name~spaces name~space namespace~prefix namespace~prefixes prefix~bindings
prefix~binding prefix~mappings prefix~mapping prefix~declarations prefix~table prefix~map namespace~bindings
namespace~declarations namespace~mappings namespace~map namespace~table prefix~list prefix~definitions
namespace~abbreviations namespace~manager prefix~to~namespace~mappings prefix-namespace~pairs prefix~namespace~pairs
namespace~binding namespace~list ns ns~bindings ns~prefixes ns~declarations ns~mappings prefix~lines
prefix~statements prefix~header prefix~headers prefix~to~iri~mapping prefix~to~iri~mappings prefix~to~uri~mapping
prefix~to~namespace~mapping prefix~iri~mapping prefix~situation namespace~situation base~list~of~prefixes bindings
"""
    ),
    "o": (
        """
root roots root~class root~classes root~concept root~concepts root~node root~nodes root~terms top~class top~classes
top-level~class top-level~classes top~level~class top~level~classes top-level~concepts top~level~concepts top~concepts
topmost~classes topmost~class uppermost~classes upper-most~classes most~general~classes most~general~class
most~general~concepts highest-level~classes highest~level~classes most~abstract~classes root~entities top-level~terms
broadest~classes topmost~concepts highest~classes top-level~entities top-level~types root~types top~nodes
root~categories top~categories top-level~categories toplevel~classes top~of~the~hierarchy top~of~the~class~hierarchy
root~of~the~hierarchy top~level~of~the~hierarchy root~of~the~class~hierarchy roots~of~the~hierarchy
roots~of~the~class~hierarchy top~of~the~taxonomy root~of~the~taxonomy roots~of~the~taxonomy
top~level~of~the~class~hierarchy top~of~the~class~tree root~of~the~class~tree highest~level~of~the~hierarchy
top~of~the~tree root~level on~the~highest~level at~the~highest~level at~the~top on~top at~the~top~level at~the~root
on~the~top~level at~the~root~level at~the~very~top entry~points starting~points at~the~roots at~root~level at~top~level
nobody's~subclass top~node upper~classes upper~class first-level~classes
"""
    ),
    "q": "triples triple statements axioms rdf~triples rdf~statements statement axiom",
    "z": (
        """
explain definition meaning mean means description details detail explanation information info comment comments label
meant summary summarise summarize documentation describe_entity entail denote denotes signify represent represents iri
uri rdfs:comment rdfs:label skos:definition tell~me~about tell~me~more~about tell~us~about tell~about know~about
you~know~about can~you~say~about you~say~about tell~me~something~about learn~about stand~for stands~for
can~you~tell~me~about say~about says~about all~about about gloss you~tell~me~about more~about look~up read~about
hear~about details~on information~on short~description full~description detailed~description facts alternative~labels
synonyms annotations full~iri abbreviate abbreviated expand~to expands~to known~about everything~known~about
all~known~about all~there~is~about what~is~known~about mean~by means~by understand~by i~don't~know~what
i~do~not~know~what i~don't~understand i~do~not~understand i~don't~understand~what understand~under
describe~everything~about explain~everything~about everything~you~know~about gist gist~of rundown rundown~of rundown~on
quick~rundown~of quick~rundown~on lowdown~on what's~the~deal~with what~is~the~deal~with what's~the~story~with
everything~you~have~on all~you~have~on what~you~have~on what~have~you~got~on what~do~you~have~on what~do~we~have~on
everything~we~have~on everything~there~is~on all~there~is~on fill~me~in~on brief~me~on walk~me~through primer~on
introduction~to intro~to more~on more~info~on anything~you~can~tell~me~about what~can~you~tell~me~about
you~can~tell~me~about
"""
    ),
    "#": (
        """
count how~many the~number~of number~of total~number~of how~much the~count~of count~of count~up what~number~of
count~how~many total~count~of counting quantity~of what~is~the~number~of number how~big~is how~large~is headcount~of
a~headcount~of
"""
    ),
    "0": (
        """
no not without nothing none never lack lacks lacking don't doesn't aren't isn't cannot haven't hasn't only~owl:thing
nothing~but~owl:thing nothing~except~owl:thing
"""
    ),
    "A": "as",
    "w": "whose",
    "H": (
        """
have has having with possess possesses carry got be~given exhibit feature features come~with comes~with
"""
    ),
    "L": (
        """
name names labels identifier identifiers local~name local~names label~or~name name~or~label names~or~labels
labels~or~names iris uris short~names
"""
    ),
    "M": (
        """
contain contains containing include includes including match matches matching mention mentions mentioning
"""
    ),
    "1": (
        """
start~with starts~with starting~with begin~with begins~with beginning~with prefixed~with prefixed~by
at~the~beginning~of at~the~start~of as~prefix as~a~prefix starting
"""
    ),
    "2": (
        """
end~with ends~with ending~with end~in ends~in ending~in end~on ends~on finish~with suffixed~with at~the~end~of
as~suffix as~a~suffix ending
"""
    ),
    "Y": (
        """
is are does do did was were if check~whether check~if verify~that verify~whether verify~if check~that
is~it~the~case~that is~it~true~that is~it~correct~that can~we~say~that can~one~say~that would~you~say~that
is~it~right~that does~it~hold~that do~we~know~whether confirm~that confirm~whether determine~whether determine~if
ask~whether ask~if ask find~out~whether find~out~if test~whether test~if can~you~confirm~that see~if see~whether
can~it~be~said~that is~it~so~that tell~me~whether tell~me~if tell~whether can~one~say can~we~say can~i~say
could~one~say
"""
    ),
    "Q": (
        """
what~is what's whats what~are who~is what~is~meant~by what~exactly~is what~precisely~is who~are what~exactly~are
what~kind~of~entity~is what~sort~of~thing~is what~kind~of~thing~is what~sort~of~entity~is what~kind~of~term~is
what~type~of~thing~is what~type~of~entity~is what~would~be what's~up~with
"""
    ),
    "R": (
        """
up~to~the~root up~to~the~top up~to~the~roots to~the~root to~the~top up~to~the~root~class back~to~the~root
back~to~the~root~class upwards
"""
    ),
    "y": "occurs occur appears appear",
    "F": (
        """
search~for search grep grep~for full~text~search full~text~search~for full-text~search~for text~search~for
keyword~search~for look~for searching~for string~search~for free~text~search~for
"""
    ),
    "!": (
        """
all every each transitive transitively recursive recursively indirect indirectly nested complete full entire whole
total ultimately inferred everything altogether in~all in~total at~any~depth at~all~levels at~any~level at~every~level
at~all~depths on~all~levels on~every~level of~all~levels to~any~depth all~the~way~down all~the~way~up
direct~and~indirect direct~or~indirect directly~or~indirectly directly~and~indirectly indirect~and~direct
not~only~direct not~just~direct not~only~the~direct~ones not~just~the~direct~ones not~only~direct~ones
not~just~direct~ones not~only~immediate directly~or~not direct~or~not down~to~the~leaves transitive~closure~of
transitive~closure the~closure~of including~indirect~ones including~indirect including~the~indirect~ones
including~subclasses~of~subclasses including~all~levels both~direct~and~indirect immediate~or~not
immediate~and~indirect no~matter~how~deep however~deep at~whatever~depth at~whatever~level at~arbitrary~depth
including~transitive~ones including~all~descendants including~nested~ones directly~or~through~other~classes
direct~as~well~as~indirect directly~or~transitively each~and~every every~single all~possible of~any~depth
from~parent~to~root direct~or~inherited sub-subclasses~too and~so~on direct~and~inherited asserted~or~inferred
asserted~and~inferred near~or~far
"""
    ),
    "'": (
        """
direct directly immediate immediately asserted explicit explicitly one~level first-level first~level a~single~level
just~one~level one~level~down one~level~up only~direct only~the~direct only~directly first~generation one~step
next~level not~transitive not~transitively not~indirect direct~only non-transitive only~immediate no~indirect~ones
without~indirect~ones not~the~indirect~ones depth~one depth~1 right
"""
    ),
    "^": (
        """
inherited including~inherited including~inherited~ones including~inherited~properties including~those~of~its~subclasses
including~those~of~subclasses including~instances~of~its~subclasses including~instances~of~subclasses also~inherited
and~inherited
"""
    ),
    "_": (
        """
please kindly could can would can~you could~you would~you will~you may~i can~i could~i i~would~like i'd~like i~want
i~need i~wish i~am~looking i'm~looking do~you~know let~me~know like want need help~me would~you~mind could~you~please
can~you~please show~me give~me tell~me find~me get~me list~me let~me i~would~like~to~know i'd~like~to~know
i~want~to~know i~need~to~know i~would~like~to~see i'd~like~to~see we~need we~want we~would~like hi hello hey thanks
thank~you i~am~interested~in i'm~interested~in to~know to~see to~find to~get to~list to~learn to~have to~find~out
for~me i~wonder do~you~happen~to~know i~have~to~know i~must~know i~search i~look~for i~am~searching i'm~searching
for~us my~question~is question i~was~wondering i~am~wondering just quickly if~possible in~order be~so~kind~as~to
be~so~kind~and what~can~you~tell~me~about~which what~do~you~know~about~which as~a~list in~a~list to~the~graph
can~you~find~out could~you~find~out you i we one me us be~able~to in~simple~words in~simple~terms in~plain~english
in~a~few~words in~one~sentence briefly in~detail in~short to~me i~wanna~know i~wanna~see i~wanna wanna~know gimme
lemme~see lemme~know can~i~get could~i~get can~i~have could~i~have may~i~have i'd~love~to~know i~would~love~to~know
i'd~love~to~see remind~me ok~so quick~question just~curious out~of~curiosity any~chance~you~could thx cheers asap
i~am~trying~to~find i'm~trying~to~find i~am~trying~to~see i'm~trying~to~see trying~to~find i~am~after i'm~after
as~if~i~were~new~here like~i'm~five like~i'm~new~here like~i'm~new like~i~am~new like~i'm~a~beginner for~a~beginner
for~beginners let's~see let~us~see we're~looking~for we~are~looking~for we're~after we~are~after i'm~looking~for
quick~one one~more~question sorry again maybe perhaps possibly as~curies as~iris as~uris with~iris with~their~iris
with~curies with~their~curies i~am~trying~to~understand i'm~trying~to~understand do~we~find do~i~find do~i~need
would~you~call what~would~you~call be~so~good~as~to thank~you~very~much do~me~a~favour~and do~me~a~favor~and any~idea
if~i~look do~i~see i~mean break
"""
    ),
    ".": (
        """
of for in on by at within inside than among called named via through along whether it following other along~with
together~with and~their and~its in~place in~use in~it with~the~name there there~are are~there is~there there~is exist
exists existing present available known defined declared bound bind binds used uses use using registered loaded listed
modelled modeled contained found find~out given recorded stored set distinct included possible various several some
only also else that which who what whom be been being will may might should must such its their this these his concrete
specific particular defines declares knows lists explicitly~stated do~we~have do~we~know we~have we~know does~it~have
does~it~contain does~it~define does~it~know does~it~list distinguishes distinguish define know provided there~exist
do~there~exist i.e e.g namely respective corresponding assigned set~to equal~to own actually really currently here
precisely in~general at~all for~a~sparql~query in~a~sparql~query in~sparql for~sparql for~my~queries for~sparql~queries
in~my~queries have~as has~as consists~of consist~of made~of ones data where list set~of the~set~of
a~list~of the~list~of overview~of an~overview~of listing~of a~listing~of names~of the~names~of iris~of the~iris~of
group~of collection~of family~of inside~of any declare how in~what~way in~which~way provides provide somehow
except~owl:thing besides~owl:thing but~owl:thing other~than~owl:thing apart~from~owl:thing offers offer sit sits stand
stands lie lies fall falls come comes located placed declared~as outgoing outbound shortest short simplest quickest
main major overall defined~as they them expand~out or~not in~any~way to~each~other to~one~another with~each~other
with~one~another each~other one~another pairs behind divided subdivided split broken~down reached participate~in
participates~in take~part~in form forms constitute different separate individually in~question respectively exactly~one
used~in occurring stated documented described~in mentioned~in listed~in held kept shown exactly overview in~play divide
divides down look~like orphan
"""
    ),
    ",": "and or but when",
    ";": (
        """
a an the the~word the~string the~text the~substring the~letters the~pattern the~fragment the~piece the~sequence
"""
    ),
    "G": (
        """
can~i~say~about can~one~say~about can~we~say~about can~i~state~about can~i~record~about can~one~state~about
can~i~express~about could~i~say~about
"""
    ),
}
"""Words and phrases by letter; "~" stands for the space in a phrase."""


@cache
def vocabulary() -> tuple[dict[str, str], dict[str, int]]:
    """The letter of each word or phrase, and of each first word the number of words of its longest
    phrase."""
    letters = dict.fromkeys(REQUESTS, "_")
    letters.update(
        (entry.replace("~", " "), letter)
        for letter, words in _LETTERS.items()
        for entry in words.split()
    )
    for phrase, letter in phrases():
        letters.setdefault(phrase, letter)
    longest: dict[str, int] = {}
    for phrase in letters:
        first, count = phrase.split(" ", 1)[0], phrase.count(" ") + 1
        longest[first] = max(longest.get(first, 1), count)
    return letters, longest
