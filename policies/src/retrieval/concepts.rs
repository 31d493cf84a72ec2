//! What programmers call the things that people ask about in plain English.
//!
//! One table for every language and every workspace. A line reads `what people say: what stands in code`; sayings are
//! separated by commas, and a saying of several words may have other words between them. The first words on the right
//! are the likeliest.

/// What is said, and what stands in code for it.
pub const SAYINGS: &str = "\
crash, fall over, blow up: panic abort fault fail unwind exception
panic: crash abort unwind catch
come back, bring back, back to life, start again, comes up again, stand up again: restart recover respawn revive resume restore
restart, relaunch, reboot: respawn recover supervisor start
recover, recovery: restore resume restart rescue heal retry
die, dead, dies: exit kill terminate crash stop panic
kill: terminate signal sigkill abort destroy
stop, halt, quit: shutdown cancel terminate abort close exit end
shut down, wind down, turn off: shutdown stop close terminate graceful
cancel, call off: abort cancellation token interrupt stop
interrupt, ctrl c, control c: signal sigint cancel abort
give up, giving up: abandon exhausted max limit fail intensity attempts
try again, tried again, once more, another try, second chance: retry attempt backoff repeat
retry: attempt backoff again policy
back off, slow down between: backoff delay exponential jitter retry
wait: sleep delay block await timeout poll park pending
waiting time, wait time, pause between: delay backoff interval duration sleep
wait too long, take too long, takes too long, too slow: timeout deadline expire elapsed
time out, timed out, run out of time: timeout deadline expire elapsed
timeout: deadline duration elapsed expire
later, postpone, put off: delay defer schedule timer after
run later, at a given time, at its own time, regularly, periodically: schedule timer delay interval cron queue
expire, run out, too old, outlive: ttl deadline timeout evict expiration stale age
wake up, woken up, wake: waker notify signal unpark
notify, tell, told, informed, inform, let know: callback hook event listener notify watch subscribe
get told, be told, tell many: notify hook callback listener signal broadcast
tell tasks to stop, tell threads to stop, stop many, stop all: cancel cancellation token shutdown signal abort
react to changes, watch for changes, find out about changes: watch notify hook event listener callback
keep an eye, look after, watch over: monitor supervise watch track guard
supervise: supervisor monitor watch child restart
belong together, several things together: group set bundle batch
at the same time, at once, side by side, simultaneously, in parallel: concurrent parallel thread async simultaneous
several threads, many threads, more than one thread: parallel concurrent thread pool worker
one after another, one by one, in turn: sequential queue iterate serial
background: spawn task thread worker daemon detached
worker, workers: thread pool task executor job
moved between threads, cross threads, stay on one thread: send local pinned local_set spawn_local
only one at a time, one at a time, nobody else: mutex lock exclusive semaphore serialize
lock, locked: mutex guard acquire exclusive busy latch semaphore
somebody else holds, held by another, in use by another: busy lock contention blocked
stuck, hang, hangs, freeze: deadlock block stall hang timeout
full, overfull, no more room, no room: capacity limit overflow bound backpressure
too many, too much: limit max exceed overflow cap throttle flood
too long, too big, too large: max limit exceed length size overflow
too often, not too often, how often: rate limit interval throttle frequency period
how big, how large, how much: size limit length capacity
how many, number of: count limit max len num
how long: duration timeout length elapsed
how deep, too deep: depth nesting recursion level limit
how fast: rate speed throughput
at most, upper bound: max limit cap
at least, lower bound: min required minimum
exactly one, only one of: exclusive group conflict single
at least one of, one of several, one of many: group required any
exclude each other, not both, not together, cannot be combined: conflict exclusive conflicts_with incompatible
one needs another, only together with: requires depend
must be given, need to be given, mandatory, compulsory: required missing
require, needed: required must
left out, leave out, not given, missing: default optional absent none required missing
limit: max cap bound threshold quota ceiling
slow down, throttle: rate limit backpressure
remember, keep for later, kept: cache store save persist memo
remember results, not computed again, not compiled again, need not be done again: cache memoize lru
used again, use again, reuse, kept open: pool cache keepalive idle recycle
reuse: pool cache
next time, last time, previous run: persist history previous base cache saved
keep on disk, survive a restart, stored for good: persist journal store save file durable flush
save, written to disk, on disk, to disk: write persist flush store fsync commit
safely on disk: fsync flush sync durable
forget, throw away, thrown away, discard, get rid of, let go of: drop remove delete discard evict clear
thrown away, out of scope, goes away, let go, no longer used: drop guard destructor raii
automatically when, by itself when, on its own when: drop guard auto default
deleted by itself, removed by itself, clean up after, cleaned up: cleanup drop tempfile auto remove teardown
clean up, tidy up: cleanup purge clear sweep teardown gc prune
delete, remove, erase: unlink drop purge rm destroy clear
empty, nothing in it: blank none clear zero
undo, take back, took back: rollback revert undo savepoint restore reset
uncommitted, half done, halfway: rollback transaction pending partial dirty
all or nothing, in one go: transaction atomic commit batch
change, alter, edit: update modify mutate set replace patch
replace, exchange: substitute swap interpolate overwrite
copy: clone backup duplicate snapshot replicate
live copy, copy of a running, copy a database, copy a live: backup snapshot replicate
backup: copy snapshot dump
move: rename transfer relocate
rename: move
look up, find, search: lookup query get seek find resolve locate match
find out, detect, figure out, work out: detect sniff infer resolve probe guess
look for, searched: search find walk lookup match
guess: suggest infer detect heuristic similar
misspell, misspelled, mistype, typo, wrong spelling, spelled wrong, meant: suggestion similar did_you_mean distance levenshtein jaro
similar, alike, closest, nearest: distance fuzzy levenshtein jaro close ratio
compare, difference, differ: diff cmp eq equal compare
difference: diff delta change
same, identical, equal: eq equal hash dedup
duplicate, twice, more than once: dedup unique repeat duplicate
sort, sorted, order, sort order, ordering: compare ordering collation rank sort cmp
smallest, lowest, first in order: min heap priority
smaller, made smaller, make smaller, as small as possible, shrink: shrink minimize reduce simplify compress compact
simplify, simpler: shrink simplify reduce minimize normalize
biggest, highest: max peak
squeeze, pack: compress zip deflate pack encode
compress, compressed, shrink a file: gzip zip deflate compress archive
check, checked, make sure, verify: validate assert verify ensure check valid
wrong, mistake, mistakes, invalid, illegal, broken: error invalid malformed assert fail bad
while developing, at development time: debug assert debug_assert
catch mistakes, caught mistakes, mistakes are caught: assert validate check debug_assert lint
allowed, may, permission: permit access allow authorize privilege
forbid, forbidden, not allowed, refuse, turn away: deny reject block forbid refuse restrict
refuse, reject: deny refuse error
secret, password: credential token key passphrase password
nobody can guess, cannot be guessed, unguessable: random secret secure token entropy
random, chance, luck: rng rand seed entropy shuffle
sign in, log in, log on: login auth authenticate session credential
who is allowed, who may: auth authorize permission role acl
security holes, known holes, weaknesses: vulnerability advisory audit cve
safe, secure, protect: guard secure sanitize protect
hide, hidden, not shown, without showing, invisible: hidden mask echo conceal skip private
untrusted, dangerous input, attack: sanitize escape validate injection
read, reading: parse load open get reader decode input
piece by piece, bit by bit, in pieces, in parts, without loading all, little by little: chunk stream incremental blob iter partial
large binary, big binary, binary value: blob bytes
write, writing: writer emit put serialize output save
send: emit dispatch transmit post publish push write
receive, get messages: recv accept consume handle read
send and receive: socket channel transport codec
message, messages: packet frame event payload envelope
datagram, packet, packets: udp frame packet
two way, both ways, both directions: duplex websocket bidirectional
push to the browser, keep pushing, pushing events: sse event stream push websocket
connect, connection: socket link dial open session
connection lost, hang up, goes away: disconnect close eof reset
address of a page, address: url uri path host route
parts of the address, pieces of the address, out of the address: path param segment extract url
host name, host names, name of a machine: dns resolve hostname lookup
through another machine, in between: proxy tunnel relay gateway
goes through a proxy, not through a proxy: proxy no_proxy http_proxy
upload, uploads, send a file: multipart upload form body
form, form fields: multipart form urlencoded
download: fetch get request
put online, make public, put onto the registry, for everybody: publish upload release deploy
newer version, new version is out, up to date: update outdated upgrade version latest notifier
version: release semver tag
install: setup deploy add
depend on, things it needs: dependency require import
cut into, cut up, taken apart, split up, break into, broken into: split chunk frame decode tokenize parse lines wrap
cut off, cut short, shortened: truncate clip ellipsis limit abbreviate
separate, separated, divided: split delimiter frame separator
put together, join, glued: join concat merge build compose combine
preceded by its size, size first, length first, told its length: length_delimited prefix header frame
lines, line by line: lines newline split codec
break lines, broken to fit, fit the width, line breaks, limited width: wrap textwrap width columns fill
long text, long paragraphs, long lines: wrap textwrap fill
turn into, turned into, made into, make from, become: convert from into parse encode transform cast
text into a number, text to a number, string to number: parse from_str value_parser int
understood, make sense of, interpret: parse decode interpret
text in braces, curly braces: json object decode dict
convert, conversion: from into cast encode transform coerce
read back, written out: deserialize serialize decode encode
objects to text, objects in a file, keep objects: serialize pickle shelve persist dump
number, numbers: int integer numeric float num
whole number: integer int
letter, letters: char character alphabetic
text: string str
upper, capital: uppercase case
date, day, calendar: datetime chrono time timestamp
time of day, clock: time timestamp now clock
how long things take, how long something took, take how long: timing timer elapsed measure profile duration
remaining, left to go, still to come: eta estimate remaining left
remaining time, time left: eta estimate
estimate: eta predict guess average
measure, measured, measurement, measurements: sample benchmark timing metric measure
far outside, far off, does not fit the rest: outlier
average: mean median
add up, adds up, sum, total: aggregate sum fold reduce accumulate
many rows, over all rows: aggregate
count: len num size counter total
show, display, shown: print render format draw display output
shown below each other, several bars: multi multiple progress
bar, bars: progress
draw, drawn, paint, redrawn: render draw refresh display
look like, appearance, how it looks: style format theme template
color, colour, colors, colours: style ansi color theme
readable for people, for humans, human readable: human format pretty display
placeholder, placeholders, filled in, fill in: template interpolate format expand substitute
reference in a replacement, group references: interpolate capture expand
summary, overview, short description: usage summary about describe digest
how to call, how to use, instructions: usage help manual
one line summary, call the program: usage help synopsis
explain to the user, help text: help usage about
message for the user, messages for the user: error message report display
complete, completed, completion: completion complete hint shell finish
shell: bash zsh completion command
file path, file name: path filename
file ending, endings, ending of a file, kind of file: extension type suffix glob
folder, folders, directory: dir path tree directory
whole folder, whole directory, everything below: recursive tree walk walkdir
go through all, visit every, search directories, walk through: walk traverse visit iterate recursive
wildcard, wildcards, star and question mark: glob pattern fnmatch
exclamation mark: negate whitelist not bang
excluded, exclude, skip, skipped, left aside: ignore exclude filter skip
win over, stronger than, takes precedence: override precedence priority
directories above, folders above, upwards: parent ancestor
pattern, patterns: regex glob match
command line: cli arg args argv command
flag, switch, option: arg option flag
wrong argument, bad argument: error usage invalid
exit code, exit status: exit_code status code exit
program, another program, other program, external program, start a program: subprocess process command spawn exec child
what it prints, prints, output of: stdout output capture print pipe
typed, key press, keyboard: input key stdin readline
ask, asks, ask the user, ask for: prompt input question request query
answer, reply: response reply return result
nobody answers, no answer: timeout unavailable
no route fits, nothing fits, nothing matches, unknown address: fallback not_found 404 default
fall back, instead of: fallback default alternative
choose, chosen, pick, decide, select: select strategy choose pick policy
choose engine, which engine, which one to use: strategy select meta
only when needed, only when they are needed, on demand, as needed: lazy on_demand hybrid cache
not valid, no valid: invalid error reject rejection malformed
plug in, own way, my own, write my own, bring your own, extend: custom trait register plugin hook impl create
own function, define a function: create_function register custom scalar
name of a thing, identifier: name id key
one instance, single instance, only one instance, shared by the whole: singleton registry global service
share, shared: arc pool common shared global
list, array: vec list slice
dictionary, map: hashmap dict table btree
table: relation schema grid virtual
made to look like a table, look like a table, as a table: virtual vtab table
row, rows, record, records: row record tuple insert
row is inserted, row is deleted, row changes: update_hook hook trigger
column, columns, field: column field attribute
stored in a column, store in a column: to_sql from_sql column bind
database: db sqlite sql store
prepared, query, queries: statement query prepare sql
prepared queries, compiled queries: statement cache prepare
letters on disk, mail, email, e-mail: mail smtp message mailbox
letters: mail message char
mailbox: queue inbox channel maildir
network address, addresses: ip address socket
private: local internal hidden
browser: http web websocket client
server: listener service serve accept
requests in progress, without cutting, politely: graceful drain shutdown
speaks, protocol: version protocol negotiate handshake
host: server machine hostname
race, fastest, whoever is first: happy_eyeballs race select
idle: pool keepalive unused timeout
heavy, cpu heavy, expensive: blocking sync thread pool compute
blocking: sync block thread spawn_blocking
blocking on top of async, use async from blocking code: bridge sync block_on
work with both, used together with, fit together, glue between: compat adapter bridge wrapper convert
wrap: wrapper adapter decorate
log, logs, logging: log trace record handler
old logs, log files replaced: rotate rotation cleanup prune
replaced when too big: rotate rotating rollover max_bytes
trace: span event record log
event, events: event message notification
test, tests: test check assert case
how many cases: cases count config
failing input, failing inputs, counterexample: regression persist seed failure
fake, pretend, stand in: mock stub fake double simulated
checksum, fingerprint: hash digest crc xxhash sha
encrypt, scramble: cipher encrypt crypto
state, states: state status phase mode
automaton, automata: dfa nfa state automaton
group: set batch cluster capture
tree: node hierarchy nested
child, children: sub nested spawn child
pool, fixed number: pool worker limit
samples: sample train example
train, trained, learn: train build dict model
setting, settings, set, configured, configure: config option setting default parameter
set how many, where is it set: config default option
default: fallback initial
environment, environment variable: env var environ
terminal, screen: tty console term terminal
width: columns width size
plan, decide when: schedule policy planner
money, price, pay: cost budget price billing
permission to do, guard: guard permission check
event loop: reactor loop poll runtime
link, links: symlink href reference
own, owner: owner ownership
undeliverable, nobody takes, could not be delivered: dead_letter undelivered
double check: verify validate assert
take work away, takes work, steal work: steal stealing queue worker
whichever first, whichever ready, several futures, first to finish, first one ready: select race any first
all finished, all done, wait for all, until all: join join_all join_set barrier tracker
not built again, not done again, not again, done only once: cache memoize reuse once
only once, exactly once, first use: once lazy init oncecell
kept so, kept and used: cache pool store
several connections, many connections, idle connections, connections kept: pool keepalive connection
tampered, altered, manipulated: hash checksum integrity verify signature digest
incoming, arriving, comes in: receive receiver recv inbound accept request
outgoing, going out: send sender outbound
taken apart, take apart: parse receiver decode split tokenize
thrown out, pushed out, make room, no more room: evict lru drop capacity
conflicting, contradict, clash, collide: conflict collision resolve
sorted out, work out, settle: resolve resolver resolution
computer, machine: system host local platform
exists twice, two meanings, unclear: ambiguous fold disambiguation
outside of the folder, outside the folder, escape the folder, out of the directory: traversal sanitize path canonicalize
dropped before ended, left behind, abandoned, nobody waits for: orphan zombie detach reap leak
lost: drop missing leak
pressed, press a key: key signal input
moved forward, move forward, stop the clock: advance pause freeze clock
missed: skip late lag burst behavior
slow receiver, slow reader, too slow to: lag backpressure lagged
starve, starving, keep others waiting, never waits: coop budget yield fairness
rounded, round: rounding increment truncate floor ceil
percent signs, percent sign: strftime strptime format
time zone, zone: timezone tz offset utc
leap, daylight, summer time: dst offset transition
memory, in memory: buffer heap alloc spooled
until it gets too big, grows too big, gets too big: spooled rollover max_size threshold limit
temporary: tempfile temp tmp
loops of links, goes in circles, circles, cycle: loop cycle symlink recursion visited
recursive, recursion, calls itself: depth nested recurse
unicode, utf-8, proper text: utf8 encoding unicode validate char
emoji, wide characters: width unicode grapheme
grow, grows, bigger when needed: reserve capacity resize realloc growth
resize, grown: resize reserve capacity rehash
collision, same slot: hash probe bucket collision
insertion order, order of insertion: indexmap linked ordered
shortest way, shortest path, cheapest way: dijkstra astar path graph
balance, balanced: rebalance rotate tree
graph, network of: graph node edge
memory is given back, give memory back, freed: free dealloc drop release gc
reference counted, counted references: rc arc refcount
arena, allocated together: arena bump alloc
small texts, short strings: small inline sso
same text stored once, stored only once: intern dedup symbol
pointer, pointers: ptr raw nonnull reference
unsafe, undefined behaviour: unsafe safety miri soundness
foreign, other language, from c: ffi extern bindings c
build time, compile time: build const macro cfg
switched on at build, optional part, optional parts: feature cfg
generated code, generates code, write code for me: derive macro codegen generate expand
rename a field, other name for a field: rename alias attribute
unknown fields, unknown keys: deny unknown ignored
skip a field, leave a field out: skip skip_serializing
missing field, fields missing: default missing
nested settings, several sources, layered: merge layer overlay precedence
where settings come from, reads settings: config load settings env
redirect, sent elsewhere: redirect location follow
cookie, cookies: cookie jar session
encrypted connection, secure connection: tls ssl certificate handshake
certificate, trust: tls cert verify ca
header, headers: header headers metadata
compressed body, unpacked: encoding gzip decompress
cross site, other origins: cors origin csrf
static files, serve files: static serve_dir file
route, routes, routing: router route path dispatch
middleware, around every request, every request: middleware layer service filter wrap
limit requests, limits requests, per minute: rate limit throttle governor
health, still alive, alive: health heartbeat ping keepalive
heartbeat, ping: keepalive heartbeat interval
leader, who is in charge: leader election primary
cluster, several machines: cluster distributed node peer
migrate, schema changes, upgrade the schema: migration version schema up
relations, relationship: join foreign key relation
pages of results, page by page: pagination cursor offset limit page
search words, full text: fts index token
batch, many at once, in bulk: batch bulk chunk
snapshot: copy state capture
snapshot test, expected output, golden: snapshot insta expect assert
coverage, fuzz: fuzz corpus coverage
benchmark, how fast is: bench criterion measure
watch files, files change, file changes: watch notify inotify event
raw mode, key by key: raw termios mode
cursor, move the cursor: cursor position ansi escape
spinner, busy sign: spinner tick progress
ask yes or no, confirmation, are you sure: confirm prompt dialog
pipe, pipes, chained programs: pipe stdin stdout stream
stdin: input pipe
no terminal, not a terminal, redirected output: isatty tty is_terminal
completion, tab key: complete completion shell
subcommand, subcommands: command subcommand
interpolate, variables in text: format interpolate template substitute expand
escape, special characters: escape quote encode sanitize
quote, quotes, quoted: quote escape string
comment, comments: comment doc skip
whitespace, spaces, blanks: whitespace trim indent space
indent, indented: indent indentation pretty
syntax tree, tree of the program: ast parse node syntax
tokens, words of the input: token lexer scanner tokenize
lexer, scanner: lex token scan
grammar, rules of the language: grammar parser rule production
precedence, binds stronger: precedence operator pratt
position of an error, where the error is, line and column: span position location line column
highlight, highlighted: highlight color syntax
overflow, too large for, does not fit: overflow checked saturating wrapping
decimal, decimals, digits after: decimal precision float format
big numbers, very large numbers: bigint big arbitrary
matrix, vectors: matrix simd linear
average, deviation: mean variance stddev statistics
confidence: confidence interval bootstrap estimate
sampling, drawn at random: sample distribution random
plot, chart, picture: plot chart svg render
image, pictures: image pixel decode
sound, audio: audio sample decode
version number, compare versions: version semver compare parse
allowed versions, which versions fit, version range: semver range requirement satisfies
pin, pinned, exact versions: lock pin version
tar, archive, archives: archive tar zip unpack extract
extract, unpack, unpacked, extracted: unpack extract archive unzip
finger, fingerprints: hash digest
sign, signed, signature: signature sign verify key
key pair, keys: key keypair public private
rights, owner of a file, permissions: permission mode chmod owner
executable, which program, find a program: which path executable
current directory, working directory: cwd current_dir
home, home folder: home dirs user
operating system, platform, windows: platform os windows unix cfg
signal, signals: signal handler sigterm sigint
exit handler, before the program ends, at the end of the program: exit atexit hook shutdown cleanup
uninstall: remove uninstall rollback
undone: rollback undo revert
put in line, wait in line: queue
first in first out, oldest first: queue fifo deque
last in first out: stack lifo
top, best ones: max heap rank
unique id, unique name, unique number: id uuid generate counter
thread safe, several threads use: sync mutex atomic send lock
atomic, without locks, lock free: atomic cas compare_exchange ordering
thread local, own value per thread: thread_local local
shared memory: shm mmap shared
map a file, file into memory: mmap map
event, fires: event emit trigger
observer, subscribers: observer subscribe listener
plugin, plugins, add-on: plugin extension hook load register
dependency injection, handed in: inject provider container
global: static global singleton
visitor: visit walk traverse
state machine: state transition fsm
type is checked, check types, types fit: type check infer coerce
cast, as another type: cast downcast convert into
any type, unknown type: any dyn erase generic
iterate backwards, from the end: rev reverse back double_ended
in chunks, groups of: chunks batch window group
flatten, nested lists: flatten flat
filter, only those that: filter retain matches
merge sorted: merge heap kmerge
combinations, all orders: permutation combination product
lazily, only when asked: lazy iterator on_demand
peek, look ahead: peek lookahead
cut into words: tokenize split words
main entry, begins, where does it start, entry point: main start entry run init
";
