"""The calls of the fleet in FastAPI, as somebody writes them by hand: leases in memory, and SQLite for what must not be lost.

Accepted leases and reports are in the database (synchronous=FULL) before they are answered, written by one thread that takes
everything that waits into one transaction. Beats write nothing. Says where it is on standard output, and what it has used for
each line on standard input.
"""
import asyncio, json, os, queue, random, resource, socket, sqlite3, sys, threading, uuid

import uvicorn
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import PlainTextResponse

UNITS_PER_LEASE = 100
counts = {"commits": 0, "rows": 0}
campaigns = {}
leases = {}
offered = {}
app = FastAPI()


class Writer(threading.Thread):
    """Commits the rows of all calls that wait in one transaction."""

    def __init__(self, file):
        super().__init__(daemon=True)
        self.file = file
        self.waiting = queue.SimpleQueue()

    def run(self):
        database = sqlite3.connect(self.file, isolation_level=None)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE lease (id TEXT PRIMARY KEY, worker TEXT, sequence INTEGER, done INTEGER, result TEXT)")
        while True:
            batch = [self.waiting.get()]
            while not self.waiting.empty() and len(batch) < 256:
                batch.append(self.waiting.get())
            database.execute("BEGIN")
            database.executemany("INSERT OR REPLACE INTO lease VALUES (?, ?, ?, ?, ?)", [row for row, _, _ in batch])
            database.execute("COMMIT")
            counts["commits"] += 1
            counts["rows"] += len(batch)
            loop = batch[0][2]
            loop.call_soon_threadsafe(settle, [future for _, future, _ in batch])

    def write(self, row):
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self.waiting.put((row, future, loop))
        return future


def settle(futures):
    for future in futures:
        if not future.done():
            future.set_result(None)


writer = Writer(sys.argv[1])


def held(body):
    lease = leases.get(body["lease"])
    if lease is None or lease["epoch"] != body["epoch"] or lease["worker"] != body["worker"]:
        raise HTTPException(410)
    return lease


@app.get("/healthz")
async def healthz():
    return {"status": "ok"}


@app.get("/metrics")
async def metrics():
    return PlainTextResponse("".join(f"heddle_fleet_{name}_total {count}\n" for name, count in counts.items()))


@app.post("/campaigns")
async def create_campaign(request: Request):
    body = await request.json()
    campaign = {"id": str(uuid.uuid4()), "next": 0, "done": 0, "beat_ms": body["beat_ms"], "input": body["input"]}
    campaigns[campaign["id"]] = campaign
    return {"id": campaign["id"]}


@app.get("/campaigns/{id}")
async def show_campaign(id: str):
    return {"id": id, "done": campaigns[id]["done"]}


@app.get("/fleet/summary")
async def summary():
    return {"held": sum(1 for lease in leases.values() if lease["accepted"])}


@app.post("/fleet/register")
@app.post("/fleet/version")
async def register(request: Request):
    await request.json()
    return {"protocol": 1}


@app.post("/fleet/claim")
async def claim(request: Request):
    body = await request.json()
    worker = body["worker"]["id"]
    offer = offered.get(worker)
    if offer is None or offer["request"] != body["request"]:
        campaign = next(iter(campaigns.values()))
        work = {"start": campaign["next"], "size": UNITS_PER_LEASE, "input": campaign["input"]}
        campaign["next"] += UNITS_PER_LEASE
        id = str(uuid.uuid4())
        leases[id] = {"epoch": 1, "worker": worker, "campaign": campaign, "accepted": False, "sequence": 0, "done": 0}
        offer = offered[worker] = {"request": body["request"], "lease": id, "epoch": 1, "work": work}
    return {"offer": {"lease": offer["lease"], "epoch": offer["epoch"], "work": offer["work"]}}


@app.post("/fleet/accept")
async def accept(request: Request):
    body = await request.json()
    lease = held(body)
    await writer.write((body["lease"], lease["worker"], 0, 0, None))
    lease["accepted"] = True
    # Anywhere in the period: workers that came together do not beat together.
    return {"next_beat_ms": round(lease["campaign"]["beat_ms"] * (0.1 + 0.9 * random.random()))}


@app.post("/fleet/beat")
async def beat(request: Request):
    body = await request.json()
    lost = []
    for each in body["leases"]:
        lease = leases.get(each["lease"])
        if lease is None or lease["epoch"] != each["epoch"]:
            lost.append(each["lease"])
        else:
            lease["progress"] = each["progress"]
    return {"lost": lost, "next_beat_ms": round(120_000 * (0.9 + 0.1 * random.random()))}


@app.post("/fleet/update")
async def update(request: Request):
    body = await request.json()
    lease = held(body)
    if body["sequence"] > lease["sequence"]:
        await writer.write((body["lease"], lease["worker"], body["sequence"], body["done"], json.dumps(body["result"])))
        lease["campaign"]["done"] += body["done"] - lease["done"]
        lease["sequence"], lease["done"] = body["sequence"], body["done"]
    if lease["done"] < UNITS_PER_LEASE:
        return {"taken": True}
    leases.pop(body["lease"], None)
    return {"taken": True, "closed": "done"}


def answer():
    for _ in sys.stdin:
        used = resource.getrusage(resource.RUSAGE_SELF)
        cpu = int((used.ru_utime + used.ru_stime) * 1_000_000)
        print(json.dumps({"cpuUs": cpu, "rss": used.ru_maxrss * 1024}), flush=True)
    os._exit(0)


writer.start()
listener = socket.create_server(("127.0.0.1", 0))
print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}"}), flush=True)
threading.Thread(target=answer, daemon=True).start()
uvicorn.Server(uvicorn.Config(app, log_level="warning", backlog=16_384)).run(sockets=[listener])
