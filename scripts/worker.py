#!/usr/bin/env python3
"""A worker: claims the tasks of one queue, does them, and says what came of it. Python's standard library only.

    HOLDFAST_URL=https://holdfast.example.com HOLDFAST_TOKEN=... HOLDFAST_QUEUE=render python3 scripts/worker.py

Your part is `work`. It may take hours: a heartbeat keeps the lease. Stopped or overtaken, it is told through `stop`.
"""
import json, os, threading, urllib.error, urllib.request, uuid

API = os.environ.get("HOLDFAST_URL", "http://127.0.0.1:8787").rstrip("/") + "/store/v1"
QUEUE = os.environ.get("HOLDFAST_QUEUE", "remote")
LEASE_MS = int(os.environ.get("HOLDFAST_LEASE_MS", "30000"))
HEADERS = {"Content-Type": "application/json"}
if "HOLDFAST_TOKEN" in os.environ:
    HEADERS["Authorization"] = "Bearer " + os.environ["HOLDFAST_TOKEN"]


def post(path, body):
    """The answer as it came; a refusal of what was asked (409: the lease is lost) is an answer too."""
    request = urllib.request.Request(API + path, json.dumps(body).encode(), HEADERS)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refused:
        if refused.code not in (404, 409):
            raise
        return json.load(refused)


def work(task, report, stop):
    """Counts to `steps`, a second each, and returns an MCP tool result."""
    steps = int(task["arguments"].get("steps", 1))
    for step in range(steps):
        if stop.wait(1):
            return None
        report({"message": f"Step {step + 1}", "progress": step + 1, "total": steps})
    return {"content": [{"type": "text", "text": f"Counted to {steps}."}]}


def serve(task):
    on_task, held, stop = "/work/" + task["taskId"], {"lease": task["lease"]}, threading.Event()

    def beat():
        while not stop.wait(LEASE_MS / 3000):
            if post(on_task + "/heartbeat", {**held, "leaseMs": LEASE_MS}).get("kind") != "held":
                stop.set()

    threading.Thread(target=beat, daemon=True).start()
    try:
        result = work(task, lambda progress: post(on_task + "/progress", {**held, "progress": progress}), stop)
        said = post(on_task + "/complete", {**held, "result": result}) if result else {"kind": "stopped"}
    except Exception as error:  # Whatever it was, another attempt may do better.
        said = post(on_task + "/fail", {**held, "error": {"message": f"{type(error).__name__}"}, "retry": True})
    stop.set()
    print(task["taskId"], said.get("kind") or said["error"]["code"], flush=True)


claim = str(uuid.uuid4())
while True:
    try:
        # The same id until an answer came: had the answer been lost, the same tasks come again.
        claimed = post(f"/queues/{QUEUE}/claims", {"claimId": claim, "worker": "python", "leaseMs": LEASE_MS, "waitMs": 25000})
        claim = str(uuid.uuid4())
        for task in claimed["claims"]:
            serve(task)
    except OSError as error:
        print("Cannot reach the server:", error, flush=True)
        threading.Event().wait(2)
