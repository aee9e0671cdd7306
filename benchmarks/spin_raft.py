"""Elections of Raft in Promela, written from the protocol's description, for SPIN to search.

The abstraction is that of ``kit.protocols.raft`` without clients: three voters of the documents'
edition, pre-vote, a first entry in each reign, probes and pipelines, a bounded bag of messages. A
step loads one server into scratch registers, which are no part of the state, works, and stores it,
unless the bag is full. Entries hold nothing, so a log is a list of terms, and the state machine is
the part of it that is committed. Each message is one number; the bag keeps them in order.
"""

from __future__ import annotations

SERVERS = 3

_HEAD = """\
#define TERMS {terms}
#define FLIGHT {flight}
#define MOST {most} /* entries of a log: each reign adds one */
#define ALL 7

#define FOLLOW 0
#define TRIAL 1
#define ASK 2
#define LEAD 3
#define PROBE 0
#define PIPELINE 1

#define VOTE 1
#define VOTED 2
#define APPEND 3
#define ACCEPTED 4
#define REJECTED 5

typedef Server {{
  byte term, vote, last, commit, role, leader, yes, no;
  byte log[MOST + 1];
  byte next[3], match[3], mode[3], flight[3], known[3]
}};
Server servers[3];
int bag[FLIGHT];
byte count, down, crashes = {crashes}, drops = {drops};

/* scratch registers: the server at work, what it received, what it sends */
hidden byte me, term, vote, last, commit, role, leader, yes, no;
hidden byte held[MOST + 1], next[3], match[3], mode[3], flight[3], known[3];
hidden byte source, kind, m_term, m_x, m_y, m_commit, m_count, m_entry[4];
hidden int out[6], taken, moving;
hidden byte sent, room, n, k, to, at, most, least, before;
hidden byte takes, granted, news;

#define NAME(i) (i + 1)
#define LAST_TERM held[last]
#define KNOWS (role == LEAD || (role == FOLLOW && leader != 0))
#define SIZE(s) ((s & 1) + ((s >> 1) & 1) + ((s >> 2) & 1))
#define PACKED(to, kind, x, y, commit, count) \\
  (kind | ((NAME(me)) << 3) | ((to) << 5) | ((x) << 9) | ((y) << 11) | ((commit) << 13) \\
   | ((count) << 15))
#define TO(message) (((message >> 5) & 3) - 1)

inline load(who) {{
  me = who; sent = 0; news = false;
  term = servers[me].term; vote = servers[me].vote; last = servers[me].last;
  commit = servers[me].commit; role = servers[me].role; leader = servers[me].leader;
  yes = servers[me].yes; no = servers[me].no;
  n = 0;
  do
  :: n <= MOST -> held[n] = servers[me].log[n]; n++
  :: else -> break
  od;
  n = 0;
  do
  :: n < 3 -> next[n] = servers[me].next[n]; match[n] = servers[me].match[n];
     mode[n] = servers[me].mode[n]; flight[n] = servers[me].flight[n];
     known[n] = servers[me].known[n]; n++
  :: else -> break
  od
}}

#define PUT(place, value) news = news || (place != value); place = value

inline save() {{
  PUT(servers[me].term, term); PUT(servers[me].vote, vote); PUT(servers[me].last, last);
  PUT(servers[me].commit, commit); PUT(servers[me].role, role); PUT(servers[me].leader, leader);
  PUT(servers[me].yes, yes); PUT(servers[me].no, no);
  n = 0;
  do
  :: n <= MOST -> PUT(servers[me].log[n], held[n]); n++
  :: else -> break
  od;
  n = 0;
  do
  :: n < 3 -> PUT(servers[me].next[n], next[n]); PUT(servers[me].match[n], match[n]);
     PUT(servers[me].mode[n], mode[n]); PUT(servers[me].flight[n], flight[n]);
     PUT(servers[me].known[n], known[n]); n++
  :: else -> break
  od
}}

inline remove(place) {{
  n = place;
  do
  :: n + 1 < count -> bag[n] = bag[n + 1]; n++
  :: else -> break
  od;
  count--; bag[count] = 0
}}

inline insert() {{ /* moving, where it belongs */
  n = count;
  do
  :: n > 0 && bag[n - 1] > moving -> bag[n] = bag[n - 1]; n--
  :: else -> break
  od;
  bag[n] = moving; count++
}}

inline post_all() {{
  k = 0;
  do
  :: k < sent -> moving = out[k]; insert(); k++
  :: else -> break
  od
}}

inline send(what) {{ out[sent] = what | (term << 7); sent++ }}

inline forget() {{ /* what only a candidate or a leader knows */
  leader = 0; yes = 0; no = 0; n = 0;
  do
  :: n < 3 -> next[n] = 0; match[n] = 0; mode[n] = 0; flight[n] = 0; known[n] = 0; n++
  :: else -> break
  od
}}

inline follow(whom) {{ forget(); role = FOLLOW; leader = whom }}

inline ask(whom) {{ /* a trial asks for the term after this one */
  out[sent] = PACKED(whom, VOTE, last, LAST_TERM, 0, (role == TRIAL)) |
    ((role == TRIAL -> term + 1 : term) << 7);
  sent++
}}

inline campaign(how) {{
  forget(); role = how; yes = 1 << me;
  if
  :: how == ASK -> term++; vote = NAME(me)
  :: else
  fi;
  to = 0;
  do
  :: to < 3 -> if :: to != me -> ask(NAME(to)) :: else fi; to++
  :: else -> break
  od
}}

inline send_to(whom, bare) {{ /* a probe one entry and then waits, a pipeline all there is */
  if
  :: (mode[whom] == PROBE && flight[whom] == 0 || mode[whom] == PIPELINE && flight[whom] < 10) &&
     (next[whom] <= last || bare) ->
     before = next[whom] - 1; at = 0; moving = 0;
     do
     :: next[whom] + at <= last && (mode[whom] == PIPELINE || at == 0) ->
        moving = moving | (held[next[whom] + at] << (17 + 2 * at)); at++
     :: else -> break
     od;
     send(PACKED(NAME(whom), APPEND, before, held[before], commit, at) | moving);
     if
     :: mode[whom] == PROBE -> flight[whom] = 1
     :: else -> flight[whom] = flight[whom] + (at > 0); next[whom] = next[whom] + at
     fi
  :: else
  fi
}}

inline lead() {{
  forget(); role = LEAD; last++; held[last] = term; to = 0;
  do
  :: to < 3 ->
     if :: to != me -> next[to] = last; send_to(to, false) :: else fi;
     to++
  :: else -> break
  od
}}

inline counted() {{
  if
  :: SIZE(yes) >= 2 && role == TRIAL -> campaign(ASK)
  :: SIZE(yes) >= 2 && role == ASK -> lead()
  :: SIZE(yes) < 2 && SIZE(no) >= 2 -> follow(0)
  :: else
  fi
}}

inline commit_more() {{ /* the middle one of three; of the own term only */
  match[me] = last;
  most = (match[0] > match[1] -> match[0] : match[1]);
  least = (match[0] > match[1] -> match[1] : match[0]);
  at = (match[2] > most -> most : (match[2] > least -> match[2] : least));
  match[me] = 0;
  if
  :: at > commit && held[at] == term -> commit = at
  :: else
  fi
}}

inline open(message) {{
  kind = message & 7; source = ((message >> 3) & 3) - 1; m_term = (message >> 7) & 3;
  m_x = (message >> 9) & 3; m_y = (message >> 11) & 3; m_commit = (message >> 13) & 3;
  m_count = (message >> 15) & 3; n = 0;
  do
  :: n < 3 -> m_entry[n] = (message >> (17 + 2 * n)) & 3; n++
  :: else -> break
  od
}}

/* of a vote: x is yes, y a trial; of a request for one: the count says that it is a trial */
#define IS_TRIAL (kind == VOTE && m_count == 1 || kind == VOTED && m_y == 1)

inline admit() {{
  takes = true;
  if
  :: kind == VOTE && KNOWS -> takes = false /* who hears a leader does not look */
  :: else ->
     if
     :: m_term < term ->
        takes = false;
        if
        :: kind == APPEND -> send(PACKED(NAME(source), REJECTED, 0, last, commit, 0))
        :: kind == VOTE && IS_TRIAL -> send(PACKED(NAME(source), VOTED, 0, 1, 0, 0))
        :: else
        fi
     :: m_term > term ->
        if
        :: !IS_TRIAL || (kind == VOTED && m_x == 0) ->
           term = m_term; vote = 0; to = (kind == APPEND -> NAME(source) : 0); follow(to)
        :: else
        fi
     :: m_term == term && kind == APPEND && role == LEAD -> takes = false
     :: m_term == term && kind == APPEND && role != LEAD &&
        !(role == FOLLOW && leader == NAME(source)) -> follow(NAME(source))
     :: else
     fi
  fi
}}

inline vote_asked() {{
  granted = (m_y > LAST_TERM || m_y == LAST_TERM && m_x >= last) &&
    (vote == NAME(source) || vote == 0 && !KNOWS || IS_TRIAL && m_term > term);
  if
  :: granted && !IS_TRIAL -> vote = NAME(source)
  :: else
  fi;
  out[sent] = PACKED(NAME(source), VOTED, granted, m_count, 0, 0) |
    ((granted -> m_term : term) << 7);
  sent++
}}

inline voted() {{
  if
  :: role == TRIAL && m_y == 1 || role == ASK && m_y == 0 ->
     if
     :: m_x == 1 -> yes = yes | (1 << source)
     :: else -> no = no | (1 << source)
     fi;
     counted()
  :: else
  fi
}}

inline append_asked() {{
  if
  :: m_x > last || held[m_x] != m_y ->
     send(PACKED(NAME(source), REJECTED, m_x, last, commit, 0))
  :: else ->
     n = 0;
     do
     :: n < m_count ->
        at = m_x + n + 1;
        if
        :: at <= last && held[at] == m_entry[n]
        :: else ->
           k = at;
           do
           :: k <= MOST -> held[k] = 0; k++
           :: else -> break
           od;
           held[at] = m_entry[n]; last = at
        fi;
        n++
     :: else -> break
     od;
     at = m_x + m_count;
     m_commit = (m_commit < at -> m_commit : at);
     commit = (commit > m_commit -> commit : m_commit);
     send(PACKED(NAME(source), ACCEPTED, at, 0, commit, 0))
  fi
}}

#define HEARD known[source] = (known[source] > m_commit -> known[source] : m_commit)

inline accepted() {{
  if
  :: role == LEAD ->
     HEARD;
     match[source] = (match[source] > m_x -> match[source] : m_x);
     next[source] = (next[source] > m_x + 1 -> next[source] : m_x + 1);
     flight[source] = (mode[source] == PIPELINE && flight[source] > 0 -> flight[source] - 1 : 0);
     mode[source] = PIPELINE;
     commit_more(); send_to(source, false)
  :: else
  fi
}}

inline rejected() {{ /* x is the mismatch, y where that log ends */
  if
  :: role == LEAD ->
     HEARD;
     if
     :: m_x == 0 && m_y == 0 -> send_to(source, true)
     :: (m_x != 0 || m_y != 0) && (m_x <= match[source] || m_y < match[source] ||
        mode[source] == PROBE && m_x != next[source] - 1) /* an old one */
     :: else ->
        mode[source] = PROBE; flight[source] = 0;
        m_x = (m_x < m_y + 1 -> m_x : m_y + 1);
        next[source] = (m_x > match[source] + 1 -> m_x : match[source] + 1);
        send_to(source, false)
     fi
  :: (role == TRIAL || role == ASK) && !((yes | no) & (1 << source)) -> ask(NAME(source))
  :: else
  fi
}}

inline repeat() {{
  to = 0;
  do
  :: to < 3 ->
     if
     :: to != me ->
        flight[to] = (mode[to] == PROBE -> 0 : (flight[to] > 9 -> 9 : flight[to]));
        send_to(to, true)
     :: else
     fi;
     to++
  :: else -> break
  od
}}

#define FITS(kept) (kept + sent <= FLIGHT)
#define BOTH(a, b) \\
  (servers[a].role == LEAD && servers[b].role == LEAD && servers[a].term == servers[b].term)
#define SOUND assert(!(BOTH(0, 1) || BOTH(0, 2) || BOTH(1, 2)))

inline deliver(place) {{
  taken = bag[place]; open(taken); load(TO(taken)); admit();
  if
  :: takes && kind == VOTE -> vote_asked()
  :: takes && kind == VOTED -> voted()
  :: takes && kind == APPEND -> append_asked()
  :: takes && kind == ACCEPTED -> accepted()
  :: takes && kind == REJECTED -> rejected()
  :: else
  fi;
  if
  :: FITS(count - 1) -> remove(place); save(); post_all(); SOUND
  :: else
  fi
}}

inline rings() {{ /* a timeout that changes nothing sends only what is not on its way */
  room = FITS(count);
  if
  :: room -> save()
  :: else
  fi;
  if
  :: room && !news ->
     n = 0; takes = false;
     do
     :: n < sent ->
        k = 0;
        do
        :: k < count && bag[k] != out[n] -> k++
        :: else -> break
        od;
        takes = takes || k == count; n++
     :: else -> break
     od;
     room = takes
  :: else
  fi;
  if
  :: room -> post_all(); SOUND
  :: else
  fi
}}

active proctype world() {{
end:
  do
"""
_SERVER = """\
  :: d_step {{ !(down & {bit}) && servers[{i}].role != LEAD && servers[{i}].term < TERMS ->
       load({i}); campaign(TRIAL); rings() }}
  :: d_step {{ !(down & {bit}) && servers[{i}].role == LEAD -> load({i}); repeat(); rings() }}
  :: d_step {{ crashes && !(down & {bit}) ->
       load({i}); follow(0); commit = 0; save(); down = down | {bit}; crashes-- }}
  :: d_step {{ down & {bit} -> down = down & ~{bit} }}
"""
_MESSAGE = """\
  :: d_step {{ {place} < count && !(down & (1 << TO(bag[{place}]))) -> deliver({place}) }}
  :: d_step {{ {place} < count && drops -> remove({place}); drops-- }}
"""
_TAIL = """\
  od
}
"""


def promela(terms: int, flight: int, crashes: int = 0, drops: int = 0) -> str:
    """The model: so many terms (3 at most), messages on their way, crashes (1 at most), losses."""
    given = {"terms": terms, "flight": flight, "crashes": crashes, "drops": drops, "most": terms}
    servers = "".join(_SERVER.format(i=i, bit=1 << i) for i in range(SERVERS))
    messages = "".join(_MESSAGE.format(place=place) for place in range(flight))
    return _HEAD.format(**given) + servers + messages + _TAIL
