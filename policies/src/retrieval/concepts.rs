//! Which other words programmers use for the same thing: the vocabulary that joins plain English to code.

/// Words of near meaning, a line each. Every word of a line stands for every other.
pub const KINSHIPS: &str = "\
crash panic abort die fail unwind exception fault
restart respawn relaunch revive recover
recover resume rescue heal restore repair
supervise monitor watch oversee guard
stop halt terminate end finish exit quit shutdown close
cancel abort interrupt stop revoke
kill terminate signal destroy
start begin launch spawn init boot open run
create make new build construct init
delete remove erase drop unlink purge discard clear
destroy drop free release dispose teardown deinit
drop destructor release close
wait sleep pause delay block await park
timeout deadline expire elapse
retry backoff attempt again repeat
repeat loop cycle iterate again
limit max maximum cap bound threshold ceiling quota
min minimum least lowest
big large size huge
size length len count capacity bytes
count number total amount many
error failure problem fault mistake wrong
warn complain alert
check validate verify ensure assert test
compare equal diff match eq cmp
order sort compare sequence rank
search find lookup locate query seek match
choose select pick decide
guess suggest infer detect
similar distance fuzzy closest nearest jaro levenshtein
read load fetch get parse
write save store persist put emit
save persist store commit flush
print display show format render output write
draw paint render
show display visible
hide hidden invisible skip
ask prompt request query
answer reply response respond
send emit post dispatch publish push transmit
receive recv accept consume handle
message event packet notification envelope
notify signal callback hook listener subscribe wake
listen subscribe observe watch
connect connection link attach join
disconnect close detach drop
share shared arc common
lock mutex guard exclusive latch
concurrent parallel simultaneous thread
thread worker task
task job future work
queue buffer backlog channel mailbox
pool reuse cache
cache memoize remember store
remember store keep cache save
copy clone duplicate
backup copy snapshot dump
move transfer relocate rename
change modify update mutate edit alter set
update refresh upgrade change
convert transform translate cast into from coerce turn
parse read decode deserialize interpret
decode deserialize parse unpack
encode serialize marshal pack
compress deflate gzip zip shrink squeeze
split cut divide separate chunk partition break
join combine merge concat
merge combine join unify
separator delimiter delimited
newline line eol
trim strip cut
escape quote sanitize encode
text string str
letter char character
number integer int numeric float digit
date time timestamp datetime calendar
duration interval period elapsed
clock time timer
schedule timer plan later delay
list vector array vec sequence
dictionary map hash table
key name identifier
user person human
password secret credential token key
login authenticate auth sign credential
permission access allow privilege mode
forbid deny refuse reject block
refuse reject deny decline
allow permit accept
encrypt cipher crypto
random rand seed chance shuffle
url uri link address
website http web server
request call query
server listener service
client caller consumer
header metadata
body payload content
upload multipart post
download fetch get
path route location directory
folder directory dir
directory folder dir
ignore skip exclude omit gitignore
wildcard glob pattern
pattern regex glob match
option flag setting argument parameter switch
argument parameter arg param option
setting config option preference configuration
default fallback
environment env variable
color colour style ansi
colour color style ansi
terminal console tty screen
width column columns wide
wrap fold break
screen terminal display
help usage
misspell typo suggest similar
shell bash completion
complete completion autocomplete
log trace record audit
trace log span
measure benchmark metric statistics
statistics metric stat stats
speed fast performance optimize rate
slow lag throttle
progress status
bar progress
memory heap allocate alloc
allocate alloc malloc reserve
leak lifetime
pointer reference ref
unused unreachable dead
old stale expire previous
evict expire remove lru
version revision release
plugin extension module addon
extension plugin suffix
install setup deploy
upgrade update migrate
migrate migration upgrade
database db sqlite sql store
table relation schema
row record tuple
column field
query statement sql select
transaction commit rollback savepoint
undo rollback revert
revert rollback undo
binary blob bytes
bytes buffer binary
blocking sync synchronous
asynchronous async future
stream flow pipe iterator
pipe stream channel
chunk block piece part segment
piece part chunk fragment
iterate loop walk traverse each
walk traverse visit iterate
traverse walk visit descend recurse
tree hierarchy node
parent ancestor outer
child nested inner descendant
nest nested inner sub
depth level deep nest
link symlink
macro derive generate
generate produce emit create
code source
compile build prepare
prepare compile setup
execute run invoke call perform
invoke call execute
callback handler hook closure
function method procedure routine
class type struct
trait interface protocol
interface trait protocol
generic template
template format pattern
test mock fake stub
mock fake stub double
fake mock stub simulate
simulate mock fake virtual
input stdin read
output stdout print write
signal interrupt sigint sigterm
process subprocess child command exec
command subcommand cmd
duplicate repeat unique dedup
unique distinct dedup
group batch bundle
batch bulk group
first head front initial
last tail end final
empty blank none zero
missing absent none required lack
required mandatory must need
optional maybe
exclusive conflict
conflict exclusive incompatible
lazy defer later
eager immediate
priority order weight
weight score rank
score rank weight
average mean
sum total add aggregate
aggregate sum fold reduce group
add append insert push
insert add push put
reset clear restore
clean cleanup clear purge sweep
cleanup clean dispose teardown finalizer
register registry add
registry register catalog index
index position offset
position offset index cursor
cursor position
shrink minimize reduce simplify
simplify reduce minimize shrink
reproduce replay seed regression
replay reproduce seed
pretty format indent
indent whitespace
handshake negotiate
negotiate accept agree
upgrade websocket
proxy forward relay tunnel
forward redirect proxy delegate
redirect forward location
compatible compat adapter bridge
adapter compat bridge wrapper
wrap wrapper adapter
budget credit quota
fair fairness yield starve
starve fairness yield
stall hang stuck block freeze
hang stall stuck freeze deadlock
deadlock hang lock
overflow exceed overrun
exceed overflow limit
truncate cut clip shorten
shorten truncate abbreviate ellipsis
safe guard protect
protect guard defend secure
attack malicious injection
sandbox isolate contain
isolate contain sandbox
trust trusted verify
expose public export
export public expose
";

/// What several words say together, and the words of code for it. Stems are taken of both sides.
pub const PHRASES: &str = "\
come back: restart recover respawn resume
comes up again: restart recover
start again: restart respawn
bring back: restore restart recover
give up: abandon fail intensity giveup exceeded
go wrong: error fail
goes away: disconnect close drop exit
go away: disconnect close drop exit
run out: exhaust exceed timeout overflow
time out: timeout deadline
timed out: timeout deadline
shut down: shutdown stop close
back off: backoff delay retry
too many: limit max exceed flood
too much: limit max exceed
too long: limit max length exceed timeout
too big: limit max size exceed
too large: limit max size exceed
too slow: timeout throttle
too deep: depth recursion nest limit
at most: max limit
at least: min required
at once: concurrent parallel
same time: concurrent parallel simultaneous
more than once: duplicate repeat
only once: once dedup unique
exactly once: once dedup
each other: mutual conflict
out of scope: drop guard
thrown away: drop discard
throw away: drop discard
get rid of: remove delete drop
clean up: cleanup teardown drop dispose
tidy up: cleanup clean
look up: lookup find get
set up: setup init configure
sign in: login auth
log in: login auth
hang up: disconnect close
pick up: resume receive
hand over: transfer deliver send
pass on: forward propagate
turn off: disable
turned off: disable
switch off: disable
turn on: enable
turn into: convert into from
turned into: convert into from parse
made of: build compose
piece by piece: chunk incremental stream
bit by bit: incremental stream chunk
step by step: incremental step
one by one: iterate sequential each next
one after another: sequential queue
line by line: lines
in order: order sort sequence
sort order: collation order compare
put together: join concat build assemble
put back: restore return
left over: remaining rest leftover
leave out: skip exclude omit
left out: skip exclude omit
held up: block wait stall
how big: size limit length capacity
how large: size limit length capacity
how long: duration timeout length elapsed
how many: count limit max number
how often: interval rate frequency period
how fast: rate speed
how deep: depth level
how wide: width
last word: final
on disk: file persist flush fsync
to disk: file persist flush fsync write
key press: key input keyboard event
command line: args arguments cli argv
exit code: exit code status
file name: filename path
white space: whitespace trim
upper case: uppercase
lower case: lowercase case
read only: readonly
up to date: fresh stale modified
out of date: stale expired outdated
not found: missing notfound 404
keep alive: keepalive heartbeat ping
still alive: heartbeat alive ping
stay alive: keepalive heartbeat
dead letter: deadletter undelivered
memory use: memory allocation
add up: sum aggregate total
adds up: sum aggregate total
did you mean: suggest similar
made up: fake generate
wake up: wake waker notify
woken up: wake waker notify
told when: notify hook callback
informed when: notify hook callback
let know: notify
big enough: capacity reserve
get hold of: acquire get
fall back: fallback default
take over: takeover replace
work out: compute calculate infer
figure out: detect infer compute
find out: detect query
keep track: track record state
loses track: leak
";
