"""Small templates, one construct each, for fixtures that every user's tests can run without Python."""

DATA = {
    "messages": [{"role": "system", "content": "sys"}, {"role": "user", "content": " Hi <b> "}, {"role": "assistant", "content": None}],
    "n": 7, "f": 2.5, "s": "Hello, World", "e": "", "none": None, "t": True, "l": [3, 1, 2], "words": ["b", "A", "c", "a"],
    "d": {"b": 1, "a": {"x": [1, 2]}, "items": "shadowed"}, "u": "Ünï 漢字 😀", "nested": [[1, 2], [3, 4]],
    "people": [{"name": "Bo", "age": 30, "tags": ["x"]}, {"name": "al", "age": 25, "tags": []}, {"name": "Cy", "age": 30}],
    "html": "<a href='x'>&\"</a>", "lines": "one\n\ntwo\nthree\n", "big": 9007199254740993, "neg": -7,
}

EXPRESSIONS = r"""
1 + 2 * 3 ** 2 - 4 // 3 % 2
7 / 2, 7 // 2, -7 // 2, 7 % -3, -7 % 3, 7.5 // 2, -7.5 % 2
2 ** 10, 2 ** -1, 2 ** 0.5, -2 ** 2, 2 ** 3 ** 2
1e16, 1e15, 123456789.123, 1e-4, 1e-5, 0.1 + 0.2, 1.0, 100000000000000000.0, 5e-324, 1.7976931348623157e308
0x1F, 0b101, 0o17, 1_000, 1_0.5_0
true, True, false, none, None
'a' 'b' "c"
'it''s'
"tab\tnew\nback\\ \x41 \u00e9 \U0001F600 \101 \q"
'\é'
not true or true and false
1 < 2 < 3, 1 < 3 < 2, 1 == 1.0 == true
1 in [1, 2], 3 not in [1, 2], 'a' in 'abc', 'b' in {'a': 1}, 'x' in missing
none == false, none is none, '' == none, [] == [], [1, [2]] == [1, [2]], {'a': 1} == {'a': 1.0}
[1, 2] < [1, 3], (1, 2) < (1, 2, 3), 'a' < 'b', 'A' < 'a'
1 if false, 2 if true else 3, 4 if 0 else 5
[1, 'two', 3.0, none, true, (1,), (), {}, {'k': [1]}]
(1, 2, 3), (1,), ()
{'a': 1, 'b': {'c': none}, 1: 2, none: 3, true: 4}
["it's", 'say "x"', "both ' and \"", 'new\nline', 'tab\t', 'back\\slash', 'é漢😀', '\x00\x7f\xa0\u200b\ud7ff']
'a' ~ 1 ~ none ~ 2.0 ~ [1]
'%s is %d and %5.2f' % ('x', 3, 2.5)
'%05d|%-5s|%5s|%x|%X|%o|%e|%g|%c|%%' % (42, 'ab', 'cd', 255, 255, 8, 12345.678, 0.0001, 'z')
'%(a)s-%(b)r' % {'a': 1, 'b': 'q'}
'x' * 3, 3 * 'ab', [1] * 2, 'x' * 0, 'x' * -1
[1] + [2], (1,) + (2,)
l[0], l[-1], l[9], l[1:], l[:-1], l[::-1], l[::2], l[5:1], l[-2:], l[:100]
s[0], s[-1], s[1:4], s[::-1], s[10:2:-2], u[1], u[4:6], u[::-1]
d.b, d['a'].x[1], d.a.x, d.missing, d['missing'] is defined, d.a.missing is defined
d.items is callable, d['items'], d.get('b'), d.get('zz'), d.get('zz', 5)
d.keys() | list, d.values() | list, d.items() | list
d.keys(), d.values(), {'a': 1}.items()
missing, missing is defined, missing is undefined, (missing), missing == missing2, missing | default('dflt')
missing | length, missing | list, missing | join, missing is iterable, missing is sequence, missing is callable
s.upper(), s.lower(), s.title(), s.swapcase(), 'hELLO wORLD'.capitalize(), 'straße ŉ ǆ'.upper(), 'ÀÉ'.lower(), 'ǆ'.title()
'  x '.strip(), '  x '.lstrip(), '  x '.rstrip(), 'xxaxx'.strip('x'), 'abcba'.strip('ab'), '\n a\n'.strip('\n')
'a,b,,c'.split(','), ' a  b '.split(), 'a b c'.split(' ', 1), 'a b c'.rsplit(' ', 1), ' a b '.split(none, 1), 'a  b c  '.rsplit(none, 1), ''.split(), ''.split(',')
lines.splitlines(), lines.splitlines(true), 'a\r\nb\rc\x0bd\u2028e'.splitlines()
'a\u00a0\u3000'.strip() ~ '|', '\u2003 é \u2003'.strip() ~ '|', 'aé漢😀'.rstrip('😀漢é'), 'xé'.strip('é'), ' é  ü '.rsplit(none, 1), 'é\u2028'.rsplit(), '漢字' | trim('字'), '{:05}'.format('ab'), '{:05}|{:<05}|{:^05}'.format(3, 3, 1.5)
s.startswith('Hell'), s.startswith(('x', 'H')), s.endswith('d'), s.endswith(('q',)), s.startswith('lo', 3), s.startswith('')
s.replace('l', 'L'), s.replace('l', 'L', 1), s.replace('', '-'), 'aaa'.replace('aa', 'b'), s.replace('zz', '')
s.find('o'), s.find('zz'), s.rfind('o'), s.find('o', 5), s.index('W'), s.count('l'), 'aaaa'.count('aa'), 'abc'.count('')
'-'.join(['a', 'b']), ''.join('abc'), ', '.join(d)
'123'.isdigit(), '12a'.isdigit(), ''.isdigit(), 'abc'.isalpha(), 'a1'.isalnum(), ' \t'.isspace(), 'Abc'.isupper(), 'ABC1'.isupper(), 'abc'.islower(), 'Ab Cd'.istitle(), '²'.isdigit(), '½'.isnumeric()
'ab'.center(7, '*'), 'ab'.ljust(5) ~ '|', 'ab'.rjust(5), '-42'.zfill(6), 'a-b-c'.partition('-'), 'a-b-c'.rpartition('-'), 'abc'.partition('x')
'prefix_x'.removeprefix('prefix_'), 'x.txt'.removesuffix('.txt')
'{} {1}'.format('a') if false else '{0}-{1}-{0}'.format('a', 'b'), '{}{}'.format(1, 2), '{a:>5}|{b:<4}|{c:^5}|{d:05.1f}|{e:,}'.format(a='x', b='y', c='z', d=2.25, e=1234567)
'{0.b} {0[b]} {1[0]} {{}}'.format(d, l), '{!r}'.format('q'), '{:x} {:#x} {:b} {:e} {:.3g} {:%} {:+d}'.format(255, 255, 5, 1.5, 1234.5, 0.25, 3)
s | upper, s | lower, 'foo bar-baz (qux)' | title, s | capitalize, '  x ' | trim, 'xxaxx' | trim('x'), 42 | string, 42 | trim
s | length, l | count, d | length, u | length, '' | length
l | first, l | last, s | first, s | last, [] | first, [] | last, d | first
l | join('-'), l | join, people | join(', ', attribute='name'), words | join('')
l | sort, l | sort(reverse=true), words | sort, words | sort(case_sensitive=true), people | sort(attribute='age,name') | map(attribute='name') | list
words | unique | list, words | unique(case_sensitive=true) | list, [1, 1.0, true, 2] | unique | list
l | min, l | max, words | min, [] | max, people | max(attribute='age') 
l | sum, people | sum(attribute='age'), [] | sum, l | sum(start=10), [0.1, 0.2] | sum
l | reverse | list, s | reverse, (1, 2) | reverse | list
'3.7' | int, 'x' | int, 'x' | int(9), '0x1A' | int(base=16), 3.9 | int, -3.9 | int, none | int, '  12 ' | int, '1_000' | int, true | int, '1e3' | int
'3.5' | float, 'x' | float, 'x' | float(1.5), 3 | float, '1e3' | float, (missing | default('-inf') | float) < 0
2.5 | round, 3.5 | round, 2.675 | round(2), 42 | round, 42.4 | round(method='ceil'), 42.9 | round(0, 'floor'), 1234.5 | round(-2), 15 | round(-1), -0.4 | round
-3 | abs, -2.5 | abs, true | abs
lines | indent, lines | indent(2, true), lines | indent('> ', blank=true), 'a' | indent(first=true)
l | batch(2) | list, l | batch(2, 'x') | list, [1, 2, 3, 4, 5] | slice(3) | list, [1, 2, 3, 4] | slice(3, 'z') | list
l | map('string') | join('+'), people | map(attribute='name') | list, people | map(attribute='tags', default='none') | list, people | map(attribute='tags.0') | list, words | map('upper') | list, ['a', 'b'] | map('replace', 'a', 'z') | list
l | select | list, [0, 1, '', 'a'] | select | list, l | select('odd') | list, l | reject('odd') | list, l | select('gt', 1) | list, l | select('in', [1, 3]) | list
people | selectattr('tags') | map(attribute='name') | list, people | selectattr('age', 'eq', 30) | map(attribute='name') | list, people | rejectattr('tags', 'defined') | map(attribute='name') | list
d | dictsort, {'B': 2, 'a': 1} | dictsort(true), {'b': 1, 'a': 2} | dictsort(by='value'), {'b': 1, 'a': 2} | dictsort(reverse=true)
d | items | list, people | groupby('age') | list, people | groupby('age') | map(attribute='grouper') | list
html | escape, html | e ~ '<', (html | safe) ~ '<', (html | safe) + '<', 'a<' + ('b<' | safe), ('<' | e) | upper, '<' | e | string
('a' | safe) ~ 1, ('<%s>' | safe) % '<x>', ['<', '>' | safe] | join('&'), ('&' | safe).join(['<', '>'])
'%s-%s' | format('a', 1), '%(x)s' | format(x=2)
'foo bar baz qux' | truncate(9), 'foo bar baz qux' | truncate(9, true), 'foo bar baz qux' | truncate(11), 'foo bar' | truncate(5, false, '…', 0)
'a b  c' | wordcount, 'it''s é_1' | wordcount, 'ab' | center(6) ~ '|', 'a b/c?d=é' | urlencode, {'a': 1, 'b c': 'd&'} | urlencode
1000 | filesizeformat, 1 | filesizeformat, 123456789 | filesizeformat, 123456789 | filesizeformat(true), 0 | filesizeformat
none | default('x'), none | default('x', true), '' | d('y', true), 0 | d(1), missing | d
[1, {'a': 'é"\\\n\t\x01', 'b': [true, none, 1.5, 1e20]}, {}, []] | tojson
d | tojson, d | tojson(indent=2), [] | tojson(indent=2), {'a': []} | tojson(indent=4), u | tojson, u | tojson(ensure_ascii=true), {'b': 1, 'a': 2} | tojson(sort_keys=true), l | tojson(separators=(',', ':')), d | tojson(indent='--')
{1: 2, none: 3, true: 4, 1.5: 5} | tojson, (1, 2) | tojson, 'x' | tojson, 1.0 | tojson
n is odd, n is even, n is divisibleby 7, n is divisibleby(3), n is number, n is integer, f is float, f is number, t is boolean, t is integer, t is number
s is string, l is sequence, d is mapping, l is mapping, s is iterable, n is iterable, d is iterable, none is none, none is not none
t is true, t is false, 1 is true, n is sameas 7, n is eq 7, n is equalto(7), n is ne 7, n is lt 8, n is ge 7, n is gt 7, n is le 7, n is in [7], 'abc' is lower, 'ABC' is upper, 'upper' is filter, 'odd' is test, 'zz' is filter, html | e is escaped
range(5) | list, range(2, 8, 3) | list, range(5, 0, -2) | list, range(3), range(0), range(1, 9, 2), range(5)[2], range(10)[2:8:3] | list, 3 in range(5), range(3) | length
dict(a=1, b=2), dict([('x', 1)]), dict({'q': 1}, r=2)
namespace(a=1), namespace(a=1).a, namespace(a=1).b is defined
d | attr('keys') is callable, d | attr('b') is defined, 'x' | attr('upper') is defined
n | string ~ f | string, big, big + 1, neg // 2
strftime_now('%Y-%m-%d %H:%M:%S %a %A %b %B %j %d %e %-d %y %p %I %% %U'), strftime_now('%d %b %Y')
s.__class__, s.__class__ is defined, d.__len__ is defined, s._x is defined, l.append is defined, d.update is defined, l.count(1), l.index(2)
[1, 2, 3][1:][0], 'abc'[1:][0], {'a': [1, 2]}['a'][1], (1, 2)[0], d['a']['x'], people[0].name, people.0.name, nested.1.0
f.is_integer(), 2.0.is_integer(), n.real, n.bit_length()
1.5e3, 1E-7, 3.14, 00
[1,2,3,], {'a':1,}, (1,2,), dict(a=1,)
l | map('float') | list | tojson, [[1, 2], [3]] | map('sum') | list, [[3, 1]] | map('sort') | list | first | list
'a' in ('a', 'b'), ('a', 'b') == ['a', 'b'], 1 == '1', true == 1, 2 > 1 and 'b' > 'a'
not missing, missing and 1, missing or 'x', 0 or '' or 'last', 1 and 2 and 3
""".strip("\n").split("\n")

ERRORS = r"""
missing.attribute
missing['x']
missing()
missing + 1
1 + missing
missing < 1
d.a.b.c
none.x.y
none + 1
1 + 'a'
'a' + 1
[1] + (2,)
'a' * 'b'
1 / 0
1 % 0
1.0 // 0
'abc' < 1
none < none
1 in 5
1 in 'abc'
none | length
5 | list
5 | join
'a' | abs
[1, 'a'] | sort
[1, 'a'] | sum
'%d' % 'x'
'%s %s' % 'x'
'%s' % ('a', 'b')
'{}'.format()
'a'.split('')
'a'.join([1])
'x'.index('y')
l.append(1)
d.update({})
d.pop('b')
undefined_function()
s.nope()
s()
d | tojson(indent='x', nope=1)
{[1]: 2}
[{}] | unique | list
raise_exception('told you: ' ~ n)
raise_exception(message='kw')
missing | tojson
d.items | tojson
range(200000)
range(1, 2, 0)
l | map('nope') | list
l | select('nope') | list
l | map | list
5 | reverse
l[::0]
l['a':]
missing | int
'x' | round
people | sort(attribute='tags')
loop.index
{'a': 1} | dictsort(by='z')
l | first | first
""".strip("\n").split("\n")

SYNTAX_ERRORS = [
    "{{", "{{ }}", "{{ 1 + }}", "{% if %}x{% endif %}", "{% if 1 %}", "{% for x in %}{% endfor %}", "{% endif %}", "{% nope %}",
    "{{ (1 }}", "{{ 1) }}", "{{ [1 }}", "{{ 'abc }}", "{# never closed", "{% raw %} no end", "{{ 1 is nope }}", "{{ 1 | nope }}",
    "{% set 1 = 2 %}", "{% set true = 2 %}", "{% for loop in [1] %}{% endfor %}", "{% macro m(a, a) %}{% endmacro %}",
    "{% macro m(a=1, b) %}{% endmacro %}", "{{ f(a=1, 2) }}", "{{ f(a=1, a=2) }}", "{{ f(**a, *b) }}", "{% break %}",
    "{% if 1 %}{% continue %}{% endif %}", "{% call x %}{% endcall %}", "{{ a.1b }}", "{{ a. }}", "{{ $ }}", "{{ a ! b }}",
    "{% for x in [1] %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}", "{{ {1} }}", "{{ {1: } }}", "{% set x %}", "{% with a %}{% endwith %}",
    "{{ 'x' if 1 else }}", "{{ not }}", "{{ a is b is c }}", "{{ '\\x4' }}", "{{ 1 2 }}", "{% if 1 %}{% else %}{% elif 2 %}{% endif %}",
]

TEMPLATES = r"""
=== data
plain text, no tags
=== trailing newline

text

=== lstrip and trim
  {% if true %}
    kept
  {% endif %}
  {{ 1 }}
	{# comment #}
end
=== minus after other spaces
é 　
 {%- if true %} x  {{- 1 }}漢 {#- c #}{% endif %}
=== minus
a
  {%- if true -%}
    b
  {%- endif -%}
  c {{- 1 -}} d
{#- comment -#}
e
=== plus
  {%+ if true +%}
x
  {%+ endif %}
y
=== raw
{% raw %}{{ not }} {% rendered %} {# x #}{% endraw %}
  {%- raw -%}  a  {%- endraw -%}  b
=== comment with tags
a{# {{ x }} {% if %}
 two #}b
=== braces in strings
{{ '}}' }}{{ "%}" }}{{ {'a': {'b': 1}}['a'] }}{{ '{{' }}
=== for
{% for m in messages %}{{ loop.index }}/{{ loop.length }} {{ m.role }}:{{ m['content'] }}{% if not loop.last %}, {% endif %}{% endfor %}
=== loop variables
{% for x in 'abcd' %}{{ [loop.index, loop.index0, loop.revindex, loop.revindex0, loop.first, loop.last, loop.length, loop.depth, loop.depth0] }}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {{ loop.cycle('odd', 'even') }} {{ loop.changed(x in 'bc') }}
{% endfor %}
=== loop object
{% for x in [1, 2] %}{{ loop }}{% endfor %}
=== for else
{% for x in [] %}x{% else %}empty{% endfor %}{% for x in [1] %}x{% else %}empty{% endfor %}
=== for filter
{% for x in range(10) if x is odd %}{{ x }}{{ loop.index }}{{ ',' if not loop.last }}{% endfor %} {% for k, v in d.items() if k != 'b' %}{{ k }}={{ v }};{{ loop.length }}{% endfor %}
=== for filter with outer name
{% set limit = 2 %}{% for x in l if x >= limit %}{{ x }}{% set limit = 9 %}{% endfor %}{{ limit }}
=== unpack
{% for a, b in [[1, 2], (3, 4), 'xy'] %}{{ a }}{{ b }} {% endfor %}{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}{% set p, q = 1, [2] %}{{ p }}{{ q }}
=== dict iteration
{% for k in d %}{{ k }} {% endfor %}{% for k, v in d | dictsort %}{{ k }}{% endfor %}{% for k, v in d | items %}{{ k }}{{ loop.last }}{% endfor %}
=== break and continue
{% for x in range(10) %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 5 %}{% break %}{% endif %}{{ x }}{% endfor %}
=== break in a set block
{% for x in range(3) %}{% set y %}{{ x }}{% if x == 1 %}{% break %}{% endif %}{% endset %}[{{ y }}]{% endfor %}
=== nested loops
{% for row in nested %}{% set outer = loop %}{% for x in row %}{{ outer.index }}.{{ loop.index }}={{ x }} {% endfor %}{% endfor %}
=== recursive loop
{% for x in [{'v': 1, 'c': [{'v': 2}, {'v': 3, 'c': [{'v': 4}]}]}] recursive %}({{ loop.depth }}:{{ x.v }}{% if x.c %}{{ loop(x.c) }}{% endif %}){% endfor %}
=== scope of set in for
{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = x + i %}{{ x }};{% endfor %}{{ x }}
=== scope of set in if
{% if true %}{% set y = 5 %}{% endif %}{{ y }}{% if false %}{% set z = 5 %}{% endif %}{{ z is defined }}
=== set of a caller's variable in a branch
{% for i in [1, 2] %}{% if i == 1 %}{% set n = 100 %}{% endif %}{{ n }} {% endfor %}{{ n }}
=== read in an inner loop before set
{% for i in [1] %}{% for j in [1] %}[{{ n }}]{% endfor %}{% set n = 5 %}{{ n }}{% endfor %}
=== read before set
{{ n }}{% set n = 3 %}{{ n }}
=== macro sees later set
{% macro m() %}[{{ later }}]{% endmacro %}{{ m() }}{% set later = 1 %}{{ m() }}
=== macro reads name set after
{% macro m() %}[{{ n }}]{% endmacro %}{{ m() }}{% set n = 1 %}{{ m() }}
=== namespace
{% set ns = namespace(found=false, count=0) %}{% for x in l %}{% set ns.count = ns.count + x %}{% if x == 1 %}{% set ns.found = true %}{% endif %}{% endfor %}{{ ns.found }} {{ ns.count }} {{ ns }}
=== namespace tuple
{% set ns = namespace() %}{% set ns.a, ns.b = 1, 2 %}{{ ns.a }}{{ ns.b }}{{ ns.c }}{{ ns['a'] }}
=== namespace target wrong
{% set x = {} %}{% set x.y = 1 %}
=== set block
{% set x %}<{{ n }}>{% endset %}{{ x }}{{ x | length }}{% set y | upper | replace('A', 'b') %}abc{% endset %}{{ y }}
=== filter block
{% filter upper | trim %}  abc {{ s }} {% endfilter %}|{% filter replace('a', n) %}banana{% endfilter %}
=== with
{% with a = 1, b = n %}{{ a }}{{ b }}{% set a = 9 %}{{ a }}{% endwith %}{{ a is defined }}{% with %}{% set q = 1 %}{% endwith %}{{ q is defined }}{% set w = 1 %}{% with w = 2, v = w %}{{ w }}{{ v }}{% endwith %}
=== macro
{% macro greet(name, greeting='Hello', punct=greeting[0]) %}{{ greeting }}, {{ name }}{{ punct }}{% endmacro %}{{ greet('a') }} {{ greet('b', 'Bye') }} {{ greet(greeting='Yo', name='c') }} {{ greet() }}|{{ greet.name }} {{ greet.arguments }}
=== macro varargs
{% macro m(a) %}{{ a }} {{ varargs }} {{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }} {{ m() }}
=== macro too many
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
=== macro unknown keyword
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=2) }}
=== macro recursion
{% macro f(n) %}{% if n > 0 %}{{ n }},{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}
=== macro value
{% macro m() %}  x {% endmacro %}{{ m() | trim | upper }}{{ m() is string }}{% set k = m() %}[{{ k }}]{{ m }}
=== macro reads outer
{% set x = 'outer' %}{% macro m() %}{{ x }}{% set x = 'inner' %}{{ x }}{% endmacro %}{{ m() }}{{ x }}
=== macro within macro
{% macro a() %}{% macro b(x) %}<{{ x }}>{% endmacro %}{{ b(1) }}{{ b(2) }}{% endmacro %}{{ a() }}{{ b is defined }}
=== macro in loop sees loop variable
{% for i in [1, 2] %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}
=== call block
{% macro box(title) %}[{{ title }}: {{ caller() }}]{% endmacro %}{% call box('T') %}body {{ n }}{% endcall %}
=== call block with arguments
{% macro each(items) %}{% for i in items %}{{ caller(i, loop.last) }}{% endfor %}{% endmacro %}{% call(x, last=false) each([1, 2]) %}<{{ x }}{{ last }}>{% endcall %}
=== call without caller
{% macro m() %}{{ caller is defined }}{{ caller }}{% endmacro %}{{ m() }}
=== generation
{% for m in messages %}{% generation %}{{ m.role }}{% set leak = 1 %}{% endgeneration %}{{ leak is defined }}{{ loop.index }}{% endfor %}
=== print
{% print 1, 'a', n %}
=== colon after tags
{% if true: %}a{% endif %}{% for x in [1]: %}{{ x }}{% endfor %}
=== elif
{% for i in range(4) %}{% if i == 0 %}a{% elif i == 1 %}b{% elif i == 2 %}c{% else %}d{% endif %}{% endfor %}
=== set in elif
{% if false %}{% set v = 1 %}{% elif true %}{% set v = 2 %}{% else %}{% set v = 3 %}{% endif %}{{ v }}
=== unknown filter not reached
{% if false %}{{ 1 | nope }}{% endif %}ok{{ 1 if true else 2 | nope }}
=== unknown filter reached
{% if true %}{{ 1 | nope }}{% endif %}
=== inline if without else
[{{ 'x' if false }}]{{ ('x' if false) is defined }}
=== cycler and joiner
{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{% set j = joiner(', ') %}{{ j() }}x{{ j() }}y{{ j() }}z
=== generators are used up
{% set g = l | map('string') %}{{ g | first }}{{ g | list }}{{ g | list }}
=== lazy length
{% for x in l | select %}{{ loop.length }}{{ loop.revindex }}{{ loop.last }}{% endfor %}
=== spread arguments
{% macro m(a, b, c=3) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(*[1, 2]) }}{{ m(**{'a': 1, 'b': 2}) }}{{ m(1, *[2], **{'c': 4}) }}
=== raise in a loop
{% for m in messages %}{% if m.content is none %}{{ raise_exception('content of ' ~ m.role ~ ' is null') }}{% endif %}{% endfor %}
=== windows newlines
a{{ '\r\n' | length }}b
=== unpack too few
{% for a, b in [[1]] %}{% endfor %}
=== unpack too many
{% for a, b in [[1, 2, 3]] %}{% endfor %}
=== iterate number
{% for a in 5 %}{% endfor %}
=== iterate none
{% for a in none %}{% endfor %}
=== string concatenation by chat templates
{{ '<|im_start|>' + messages[1].role + '\n' + messages[1]['content'] | trim + '<|im_end|>' ~ '\n' }}
=== messages without the first
{% set system = messages[0].content %}{% set messages = messages[1:] %}{{ system }}{% for m in messages[::-1] %}{{ m.role }}{% endfor %}
=== loop assigned outside
{% set loop = 1 %}{{ loop }}
=== special names
{% set self = 1 %}{{ self }}{% set in_ = 2 %}{{ in_ }}{% set _x = 3 %}{{ _x }}
""".strip("\n")


def constructs():
    """Yields (name, template)."""
    for i, expression in enumerate(EXPRESSIONS):
        yield f"expression {i + 1}", "{{ [" + expression + "] }}" if "," in expression else "{{ " + expression + " }}"
        if "," in expression:
            yield f"tuple {i + 1}", "{% for x in (" + expression + ",) %}{{ x }}\n{% endfor %}"
    for i, expression in enumerate(ERRORS):
        yield f"error {i + 1}", "a\n{{ " + expression + " }}"
    for i, source in enumerate(SYNTAX_ERRORS):
        yield f"syntax {i + 1}", source
    for part in TEMPLATES.split("=== ")[1:]:
        name, _, source = part.partition("\n")
        yield name, source[:-1] if source.endswith("\n") else source
