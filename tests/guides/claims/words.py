"""Words that judge, numbers that claim, and the names and phrases that hold one and do neither."""

import re

JUDGEMENTS = re.compile(r"""\b(
    best | worst | better | worse | worsens? | beats? | wins? | won | loses? | outperform\w* | ahead | mostly
    | usual(?:ly)? | often | seldom | rarely | hardly | always | never | nearly | almost | fast(?:er|est)?
    | slow(?:er|est|ly)? | quick(?:ly|er)? | cheap\w* | expensive | stand-in | unrelated | converge[sd]?
    | (?:is|are)\ exact | exactly | perfect\w* | reliabl\w* | accurate\w* | good | bad | poor(?:ly)? | useless | noise
    | contradict\w* | confirm\w* | undecided | gains? | chance | no\ difference | times\ as
    | as\ (?:well|good|much|little|seldom|often)\ as | (?:more|less|fewer)\ than | largest | smallest | (?<!at\ )most
    | widest | far\ (?:more|less|better|worse) | [st]oo?\ little | easier | harder | robust\w* | strong\w* | weak\w*
    | enough | close\ to | agrees? | says?\ little | (?:about|around|roughly|some)\ (?:a\ |an\ |half|ten|twenty|[\d½])
    )\b""", re.X | re.I)
NUMBERS = re.compile(r"""(?<![\w.])[±+−-]?
    (?: \d+(?:[,.·]\d+)+ | \d{2,}
    | \d (?= \ ?% | \ (?:ms|s|seconds?|minutes?|hours?|h|times|GB|MB|TB)\b | \ of\ (?:the\ )?\d | e-?\d
            | ⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]) )
    (?: e-?\d+ | ⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+ )?""", re.X)
"""A whole number below ten is one of a list, of a formula or a setting, unless it counts something that is measured."""
NAMES = re.compile(r"""
    (?:Tables?|Figures?)\ (?:[A-Z]-)?\d[\d-]*(?:(?:,|\ and|,\ and|\ to)\ (?:[A-Z]-)?\d[\d-]*)*(?!\.\d)
    | \b[A-Z]-\d+\b | \b\d-\d\b | top[-\ ]\d+% | \bResNet-\d+ | VGG-\d+(?:-BN)? | CIFAR-10N? | MobileNetV2
    | SmolLM2(?:-135M(?:-Instruct)?)? | Qwen3-8B | World-0\.4M | b?float\d+ | 95%\ t?[-\ ]?intervals? | ±\ 95%
    | Python\ 3\.\d+ | [HV][12]00 | L2\b | UTF-8 | 127\.0\.0\.1 | SHA-?256 | Fashion\ 2,000""", re.X)
PHRASES = {
    "the order of a list": r"""[Mm]ost\ suspicious | [Rr]ank\ 1 | supports?\ the\ behavior(?:\ at\ this\ query)?\ most
        | oppose\ it\ most | harm\ it\ most | of\ this\ query\ most | the\ behavior\ most""",
    "the scale of a measure": r"""0\ is\ solved | 1\ is\ (?:perfect|full\ agreement)
        | (?:larger|lower|nearer\ to\ zero)\ is\ better
        | Larger\ should\ be\ better
        | A\ shuffled\ order\ has\ (?:0\.50|…) | gives\ 0\.5\b | near\ 0\.50 | gradient\ norm\ and\ chance
        | [Cc]hance\ (?:that|is\ one\ half|is\ (?:the|their)\ (?:share|fraction)|is\ …)
        | (?:so|with|where)\ chance\ (?:is|at)\ 0\.\d+
        | [Rr]ankings\ in\ random\ order(?::|\ are)\ 0\.5(?:\ apart)?\ on\ average""",
    "the title of a number that is shown": r"""[Tt]imes\ as\ often(?:\ as\ by\ chance)? | by\ how\ often | [Hh]ow\ often
        | agree\ with\ Kendall's\ τ\ =\ \*?\*?…
        | [Hh]ow\ far\ (?:the\ )?rankings\ (?:of\ several\ specifications\ )?agree""",
    "a value that is put in where it is shown": r"""[Tt]he\ largest\ [\w\ ]+\ is\ \*?\*?… | [Ll]argest:\ \*?\*?…
        | the\ …\ largest | largest\ gap[\w\ ]*\ … | the\ largest\ in\ … | [Mm]ore\ than\ …
        | Largest\ (?:gradient\ norm|relative\ residual) | [Mm]ost\ memory | and\ most\ at\ query\ …
        | Dashed:\ the\ best\ cell | found\ best\ by\ \*\*…
        | the\ best\ (?:trusted\ )?behavior\ of\ (?:a|every)\ method | the\ best\ of\ all\ ·""",
    "a file is read without running code": r"[Nn]ever\ unpickled",
    "once and for all": r"for\ good\b",
    "the name of a kind of preset": r"quick\ check",
    "which one is meant": r"""usual\ (?:names|form|size) | answered\ exactly | same\ step,\ exactly
        | exactly\ and\ (?:to\ first\ order|by\ what)""",
    "a setting": r"[Ss]ymmetric\ noise | set\ and\ noise",
    "where something is asked": r"""[ηαελρ]\ (?:=|≥)\ [±+−-]?\d[\d.]*(?:e-?\d+)? | [Aa]t\ damping\ 0
        | damping\ (?:of\ )?0\.\d+ | \bn\ ?[−-]\ ?1\b""",
    "the flag of a score": r"did\ not\ converge",
}
"""What phrases are that hold such a word or number and claim nothing of a method -> the phrases."""
