"""Vocabulary of the synthetic query log, and the words that its threads draw from it.

Common English words, and invented words. Names of people, places and sites are generated from
syllables; a match with a real name is a coincidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints

Floats = npt.NDArray[np.float64]

TOPICS: Final = """
recipe chicken casserole oven sauce
garden roses soil fence mulch
travel island flights beach luggage
weather storm radar forecast rainfall
wedding dress bouquet invitation veil
lyrics melody chorus ballad singer
puppy leash kennel breeder biscuits
kitten litter whiskers basket purring
mortgage lender payment refinance escrow
knitting yarn pattern needles scarf
guitar chords strings tuning amplifier
bicycle helmet pedals saddle gears
camping tent lantern stove firewood
fishing rod bait trout river
painting canvas brushes acrylic easel
furniture sofa cushions oak table
pregnancy week symptoms midwife nursery
allergy pollen sneezing tablets spring
headache migraine remedy dizziness sleep
school calendar district lunch teacher
college tuition scholarship campus dormitory
jobs resume interview nurse warehouse
football tickets stadium scores helmets
baseball glove bats innings pitcher
astronomy telescope planets eclipse galaxy
chess opening endgame puzzle knight
poetry sonnet rhyme anthology haiku
history castle medieval armor siege
dinosaur fossil museum skeleton jurassic
volcano lava eruption crater ash
genealogy ancestors census surname archive
quilting fabric squares batting stitch
pottery kiln glaze clay wheel
sailing anchor harbor knots compass
skiing slopes lift goggles snowfall
swimming pool filter chlorine ladder
plumbing faucet leak wrench drain
roofing shingles gutter contractor estimate
carpet stain vacuum runner hallway
curtains linen rods pleated bedroom
diet calories breakfast vegetarian fiber
yoga stretches mat breathing balance
running marathon shoes training blisters
tattoo designs butterfly ankle ink
hairstyle curly braids shoulder highlights
jewelry silver bracelet clasp pendant
perfume lavender bottle scent jasmine
camera lens tripod exposure zoom
printer cartridge driver paper scanner
spreadsheet formula columns template cells
keyboard shortcut typing piano stand
tractor diesel plow barn hitch
truck bumper towing tires brakes
insurance premium claim deductible quote
taxes refund deadline deduction form
divorce custody lawyer papers mediation
passport renewal photo embassy visa
cruise cabin deck itinerary shore
orchestra violin cello concert rehearsal
theater musical seats curtain matinee
butter cookies vanilla sugar dough
turkey stuffing gravy roast thermometer
tomato seedlings blight trellis compost
orchid repotting bark humidity windowsill
parrot cage feathers perch talking
horse bridle stable riding hooves
aquarium guppies gravel heater algae
beekeeping hive honey smoker queen
woodworking lathe chisel maple joints
algebra equations fractions worksheet slope
chemistry molecule acid laboratory beaker
butterflies migration cocoon caterpillar nectar
whale ocean singing krill harpoon
penguin iceberg colony hatching antarctic
elephant ivory savanna trunk herd
spider web venom bite hairy
mushroom foraging spores edible truffle
cheese goat cheddar rind cellar
bread sourdough crust flour yeast
coffee beans grinder espresso mug
soup lentil broth noodles ladle
salad spinach dressing walnuts feta
barbecue ribs charcoal marinade smokehouse
pancakes syrup griddle blueberry buttermilk
wine vineyard grapes barrel cork
picnic blanket hamper sandwiches meadow
hiking trail boots waterfall summit
canoe paddle rapids portage lagoon
golf putter fairway caddie birdie
tennis racket serve volley umpire
hockey puck rink skates goalie
wrestling mats singlet takedown headlock
archery bow arrows quiver target
karate belt sparring dojo kick
ballet slippers tutu recital barre
drums cymbals snare rhythm sticks
trumpet brass mouthpiece valves fanfare
origami crane folding lily dragon
candles beeswax wick lanterns tealight
soap lye lard mold fragrance
doll miniature dollhouse porcelain wig
train locomotive railway steam whistle
airplane glider propeller runway cockpit
rocket launch orbit booster payload
bridge suspension arches cable toll
lighthouse keeper beacon cliff fog
tornado siren shelter funnel debris
earthquake fault magnitude aftershock tremor
glacier fjord moraine crevasse thaw
desert cactus dunes oasis camel
jungle canopy monkey vines machete
measles rash vaccine fever outbreak
diabetes insulin glucose meter syringe
arthritis knee swelling ointment stiffness
dentist crown molar braces flossing
glasses frames bifocal optician reading
pension retirement annuity savings withdrawal
budget envelope expenses groceries ledger
moving boxes van storage dolly
landscaping patio gazebo hedge pavers
""".strip()
"""A topic in each line, the most popular first: its head word, and four that refine it."""

_COMMON: Final = """
free best cheap new used pictures online beginner learn sale home make list information daily
annual ideas reviews store buy county state city near music download games video photos cards center
service repair parts prices old world kids women men baby black white red blue green small large
big little book books movie show news today tips facts chart map directions phone number address
hours local national american country house room kitchen bathroom outdoor indoor winter summer
autumn christmas halloween easter birthday party gift gifts craft crafts homemade easy quick simple
healthy natural organic antique vintage modern discount wholesale rental rent lease apartments
club association society department office hospital clinic doctor health medical law legal rules
origin definition meaning dictionary example examples sample samples plans printable sheet
software program website page search find help guide manual instructions lessons class classes
course test quiz questions answers problems cause causes treatment cure effects side price cost
average compare comparison top rated ranking popular famous funny cute beautiful pretty clip art
drawing animated wallpaper background logo poster print color colors size sizes custom personalized
handmade leather wood wooden metal glass plastic stone steel cotton wool silk portable electric
""".strip()

COMMON: Final = tuple(_COMMON.split())
"""Words common to all topics, the most popular first."""

_JOINED: Final = "bl br dr fl fr gl gr kl kr pl pr sk sl sm sn sp st tr vl vr"
PLAIN: Final = tuple(onset + vowel for onset in "bdfghjklmnprstvwz" for vowel in "aeiou")
JOINED: Final = tuple(onset + vowel for onset in _JOINED.split() for vowel in "aeiou")
"""Syllables: an invented word is a plain one, a joined one and a plain one.

The split of a word into syllables is unique, so different syllables give different words.
"""

PLACE: Final = ("ville", "ton", "burg", "field", "port", "dale", "mont", "haven")
NAME: Final = ("sen", "berg", "wick", "ley", "stad", "mann", "ridge")
SITE: Final = ("x", "nd", "rt")
"""Endings of invented names; their numbers differ, so that the kinds do not share stems."""

CHANCES: Final = (0.37, 1.0, 0.55, 0.31, 0.14, 0.09, 0.13, 0.31)
"""Probability of each word of a thread: one common word, five of the topic, a name, a place."""

HEAD: Final = 1
"""Position of a topic's first word, or of a site, among them."""

PER_TOPIC: Final = 5
"""Words per topic."""

AT_SITE: Final = 0.135
"""Probability that a thread consists of a site only."""

SITES: Final = 80
"""Number of sites, for logs of any size: the largest cluster keeps its share of the threads."""

SITE_FORMS: Final = ("{}", "{}", "{}", "{}", "www.{}.com", "{}.com")
"""Forms in which a site is typed, equally likely."""

FIRST_RANK: Final = 3
"""Rank of the most popular topic in Zipf's law; with 1 it would be too frequent."""

ABSENT: Final = -1
"""Marks a word that a thread or query does not have."""

MIXER: Final = 1_284_865_837
"""Multiplier that permutes word numbers; coprime to every number of words."""


def invent_words(numbers: Ints, endings: Sequence[str] = ("",)) -> list[str]:
    """A word per number; the first 700,000 numbers give distinct words.

    >>> invent_words(np.arange(3))
    ['kasmori', 'sekliju', 'dibrebe']
    """
    distinct = len(PLAIN) ** 2 * len(JOINED) * len(endings)
    rest, ending = np.divmod((numbers + 1) * MIXER % distinct, len(endings))
    rest, third = np.divmod(rest, len(PLAIN))
    first, second = np.divmod(rest, len(JOINED))
    parts = (first.tolist(), second.tolist(), third.tolist(), ending.tolist())
    return [PLAIN[a] + JOINED[b] + PLAIN[c] + endings[d] for a, b, c, d in zip(*parts, strict=True)]


def misspell(word: str, seed: int) -> str:
    """Drop, double, swap or replace a letter; `seed` selects the letter and the change.

    >>> [misspell("garden", seed) for seed in range(4, 8)]
    ['gaden', 'garrden', 'graden', 'gaaden']
    """
    seed, change = divmod(seed, 4)
    seed, at = divmod(seed, len(word) - 1)
    before, last, letter, after = word[:at], word[at], word[at + 1], word[at + 2 :]
    other = "abcdefghijklmnopqrstuvwxyz"[seed % 26]
    return before + (last, last + 2 * letter, letter + last, last + other)[change] + after


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words of a log, and their popularity."""

    words: list[str]
    """Words of topics, common words, places, forms of sites; each kind by popularity."""

    topics: Floats
    common: Floats
    places: Floats
    sites: Floats
    """Cumulative shares of the words of each kind."""

    names: int
    """Number of people; most are searched for once."""

    @classmethod
    def for_threads(cls, n: int) -> "Vocabulary":
        """Vocabulary of a log with n threads; its size grows with the square root of n."""
        listed = TOPICS.split()
        topics = len(listed) // PER_TOPIC + int(30 * np.sqrt(n))
        places = int(4 * np.sqrt(n))
        invented = invent_words(np.arange(topics * PER_TOPIC - len(listed)))
        sites = invent_words(np.arange(SITES), SITE)
        forms = [form.format(site) for site in sites for form in SITE_FORMS]
        # Square roots are rounded identically on every machine; other powers are not.
        root = np.sqrt(np.arange(topics) + FIRST_RANK)
        fourth_root = np.sqrt(root)
        return cls(
            words=[*listed, *invented, *COMMON, *invent_words(np.arange(places), PLACE), *forms],
            topics=cumulative_shares(1 / (root * fourth_root * np.sqrt(fourth_root))),
            common=cumulative_shares(1 / np.arange(1, len(COMMON) + 1)),
            places=cumulative_shares(1 / np.arange(1, places + 1)),
            sites=cumulative_shares(1 / np.arange(1, SITES + 1)),
            names=n,
        )

    def draw(self, rng: np.random.Generator, n: int) -> tuple[Ints, list[str]]:
        """Word numbers of n threads, one row per thread; and names, numbered after the words."""
        common = len(self.topics) * PER_TOPIC
        place = common + len(self.common)
        site = place + len(self.places)
        table = np.empty((n, len(CHANCES)), np.int64)
        table[:, 0] = common + draw_indices(rng, self.common, n)
        table[:, 1:6] = draw_indices(rng, self.topics, n)[:, None] * PER_TOPIC + np.arange(
            PER_TOPIC
        )
        table[:, 6] = len(self.words) + np.arange(n)
        table[:, 7] = place + draw_indices(rng, self.places, n)
        table[rng.random(table.shape) >= CHANCES] = ABSENT
        at_site = np.flatnonzero(rng.random(n) < AT_SITE)
        form = rng.integers(0, len(SITE_FORMS), len(at_site))
        table[at_site] = ABSENT
        table[at_site, HEAD] = (
            site + draw_indices(rng, self.sites, len(at_site)) * len(SITE_FORMS) + form
        )
        return table, invent_words(rng.integers(0, self.names, n), NAME)


def cumulative_shares(weights: Floats) -> Floats:
    """Cumulative sum of the weights, divided by their total."""
    sums = np.cumsum(weights)
    shares: Floats = sums / sums[-1]
    return shares


def draw_indices(rng: np.random.Generator, shares: Floats, n: int) -> Ints:
    """Draw n indices with these cumulative shares."""
    return np.searchsorted(shares, rng.random(n), side="right")
