import { workerData } from 'node:worker_threads'
import type { RequestLimitTask } from './request-limit.ts'

const { shared, pid, limitMs } = workerData as RequestLimitTask
const counter = new Int32Array(shared)
const sleep = new Int32Array(new SharedArrayBuffer(4))
const looksPerLimit = 10

let seen = Atomics.load(counter, 0)
for (let looks = 0; looks < looksPerLimit; looks++) {
  Atomics.wait(sleep, 0, 0, limitMs / looksPerLimit)
  const now = Atomics.load(counter, 0)
  if (now !== seen || now % 2 === 0) looks = 0
  seen = now
}
try {
  process.kill(pid, 'SIGKILL')
} catch {
  // It has ended by itself.
}
