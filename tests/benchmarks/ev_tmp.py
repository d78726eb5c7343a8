import json, sys, re
import numpy as np
from math import log, exp
from engine import worker
worker.load_kinds()
from engine.jobs.traces import work_of
from engine.jobs import estimate as E
from engine.jobs.estimate import *
import pickle, os
P="/tmp/me/jobs/ref.pkl"
T0=1795960816-16
def crowd(at):
    return (np.interp(at, [T0-110, T0+203, T0+793],[15.78,16.7,19.66])+1)/2
def ref():
    from engine.analysis.catalogue import request
    import tests.benchmarks.ref_requests as R
    done=[(int(m.group(1))) for m in re.finditer(r"^(\d+) \S+ work", open("/tmp/me/jobs/ref.log").read(), re.M)]
    raw=json.load(open("/tmp/me/jobs/ref.json")); reqs=R.requests(0)
    out=[]
    for i, r in zip(done, raw):
        q=reqs[i]; assert q.name==r["kind"]
        w=work_of(q.name,q.payload)
        out.append((Trace(w, r["seconds"], r["ended"], crowd(r["began"])), r["began"]))
    return out
def ev():
    import tests.benchmarks.record_traces as R
    reqs=R.requests(1)
    out=[]
    for r in json.load(open("/tmp/me/jobs/ev.json")):
        q=reqs[r["index"]]; assert q.name==r["kind"]
        out.append((Trace(work_of(q.name,q.payload), r["seconds"], r["ended"], r["crowd"]), r["began"]))
    return out
def replay(traces, shipped=()):
    known=list(shipped); res=[]
    for t,began in traces:
        e=estimate(t.work, known, began, t.crowd)
        res.append((t,e)); known.append(t)
    return res
def show(res, verbose=True):
    if verbose:
        for t,e in res: print(t.work.kind,t.work.words[:1],round(t.work.seconds,2),"crowd",round(t.crowd,1),"took",round(t.seconds,2),"pred",round(e.seconds,2),"[%.2g,%.2g]"%(e.low,e.high), "" if .5<=t.seconds/e.seconds<=2 else "<<<")
    ok=[.5<=t.seconds/e.seconds<=2 for t,e in res]; ins=[e.low<=t.seconds<=e.high for t,e in res]
    print(len(ok), sum(ok)/len(ok), "2nd half", sum(ok[len(ok)//2:])/len(ok[len(ok)//2:]), "in interval", sum(ins)/len(ins))
if __name__=="__main__":
    if os.path.exists(P): R=pickle.load(open(P,"rb"))
    else:
        R=ref(); pickle.dump(R,open(P,"wb"))
    if len(sys.argv)>1: show(replay(R))
    V=ev(); pickle.dump(V,open("/tmp/me/jobs/ev.pkl","wb"))
    show(replay(V,[t for t,_ in R]))
