/** Looks at the memory of a process and of its children, again and again, and keeps the most. */
import { readFileSync, readdirSync } from 'node:fs'
import { workerData } from 'node:worker_threads'

const { pid, shared } = workerData as { readonly pid: number; readonly shared: SharedArrayBuffer }
/** 0: the most so far, in KiB. 1: not 0 when it is time to end. */
const words = new Int32Array(shared)

while (Atomics.wait(words, 1, 0, 20) === 'timed-out') {
  const now = sizeOf(String(pid))
  if (now > Atomics.load(words, 0)) Atomics.store(words, 0, now)
}

function sizeOf(process: string): number {
  let size = residentSize(process)
  for (const child of childrenOf(process)) size += sizeOf(child)
  return size
}

function residentSize(process: string): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${process}/status`))?.[1] ?? 0)
}

/** A process is the child of the thread that has started it. */
function childrenOf(process: string): readonly string[] {
  let threads: readonly string[]
  try {
    threads = readdirSync(`/proc/${process}/task`)
  } catch {
    return []
  }
  return threads.flatMap((thread) =>
    read(`/proc/${process}/task/${thread}/children`)
      .split(' ')
      .filter((child) => child !== ''),
  )
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    // The process has ended, or this system has no such files.
    return ''
  }
}
