import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { EndServer, FromKeeper, ServerPlan, ToKeeper } from './messages.ts'

const program = fileURLToPath(new URL('keeper.ts', import.meta.url))

/**
 * A folder and servers that end with this process: see keeper.ts.
 *
 * @example
 * await using keeper = await openKeeper()
 * await keeper.start(plan) // ready, or rejected with what it said
 */
export interface Keeper extends AsyncDisposable {
  /** For the files of this process. Removed at the end. */
  readonly folder: string
  /** Resolves when the server is ready. Rejects with what it said when it does not become so. */
  start(plan: ServerPlan): Promise<void>
  /** Resolves when the server of a folder has ended, also if it had ended before. It can be started again. */
  end(server: EndServer): Promise<void>
}

export async function openKeeper(): Promise<Keeper> {
  const child = fork(program, {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const [{ folder }] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`the keeper of the servers ended with ${code}`)
    }),
  ])) as [{ folder: string }]
  return new ForkedKeeper(child, folder)
}

class ForkedKeeper implements Keeper {
  readonly folder: string
  readonly #child: ChildProcess
  readonly #asked = new Map<number, PromiseWithResolvers<void>>()
  #lastId = 0

  constructor(child: ChildProcess, folder: string) {
    this.#child = child
    this.folder = folder
    child.on('message', (message: FromKeeper) => {
      if ('id' in message) this.#settle(message.id, message.failure)
    })
    child.once('exit', () => {
      for (const id of this.#asked.keys()) this.#settle(id, 'the keeper of the servers has ended')
    })
  }

  start(plan: ServerPlan): Promise<void> {
    return this.#ask((id) => ({ id, start: plan }))
  }

  end(server: EndServer): Promise<void> {
    return this.#ask((id) => ({ id, end: server }))
  }

  #ask(message: (id: number) => ToKeeper): Promise<void> {
    const id = ++this.#lastId
    const answer = Promise.withResolvers<void>()
    this.#asked.set(id, answer)
    this.#child.send(message(id), (error) => {
      if (error !== null) this.#settle(id, error.message)
    })
    return answer.promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    if (this.#child.connected) this.#child.disconnect()
    await ended
  }

  #settle(id: number, failure: string | undefined): void {
    const answer = this.#asked.get(id)
    this.#asked.delete(id)
    if (failure === undefined) answer?.resolve()
    else answer?.reject(new Error(failure))
  }
}
