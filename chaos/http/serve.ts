/** A server in a process of its own: its load must not slow down the measuring process. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface Served extends AsyncDisposable {
  readonly host: string
  readonly port: number
  /** Resolves with the code or the signal when it has ended. */
  readonly ended: Promise<string>
  kill(signal: 'SIGKILL' | 'SIGTERM'): void
  /** The server's own report, with its memory in bytes. */
  look(): Promise<Look>
  /** After a collection: remaining memory is held by something. */
  collect(): Promise<Kept>
}

/** Bytes: in the heap without compiled code, of compiled code, and in buffers. */
export interface Kept {
  readonly heap: number
  readonly code: number
  readonly buffers: number
}

interface Look {
  readonly stats: Record<string, unknown>
  readonly memory: number
}

/** @param checkout The folder of the sources that are served: another state of them can be measured too. */
export async function serve(
  checkout: string,
  limits: object = {},
  store = 'memory',
): Promise<Served> {
  const child = fork(
    fileURLToPath(new URL('served.ts', import.meta.url)),
    [checkout, JSON.stringify(limits), store],
    {
      execArgv: ['--conditions=heddle-source', '--expose-gc'],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    },
  )
  const ended = endOf(child)
  const lines = createInterface(child.stdout!)
  const first = await Promise.race([once(lines, 'line'), ended])
  if (typeof first === 'string') throw new Error(`The server has not started: ${first}`)
  const { host, port } = JSON.parse(first[0] as string) as { host: string; port: number }
  /** The server answers in the order of the questions. */
  let last: Promise<unknown> = Promise.resolve()
  const ask = <T>(question: 'look' | 'collect'): Promise<T> => {
    const answer = last.then(async () => {
      const answered = once(child, 'message')
      child.send(question)
      return (await answered)[0] as T
    })
    last = answer.catch(() => undefined)
    return answer
  }
  return {
    host,
    port,
    ended,
    kill: (signal) => void child.kill(signal),
    look: () => ask('look'),
    collect: () => ask('collect'),
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect()
      await ended
    },
  }
}

async function endOf(child: ChildProcess): Promise<string> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  return signal ?? `exit code ${code}`
}
