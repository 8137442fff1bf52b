import { source, type RulePage } from '../page.ts'

export const atomicityGapPages: readonly RulePage[] = [
  {
    id: 'H501',
    name: 'read-modify-write',
    class: 'atomicity-gap',
    level: 'error',
    summary: 'A value is read, and what was made of it is written back after a suspension.',
    what: `A shared location is read before a suspension and written after it with a value that was made
from what was read. x += await y() is one: the left side is read first.`,
    why: `What others wrote in between is overwritten. Counters count too little, lists lose entries.`,
    race: source`
      let total = 0

      export async function add(item: string): Promise<number> {
        total += await priceOf(item)
        return total
      }
    `,
    steps: [
      ['A', 'reads total: 0'],
      ['A', 'await priceOf(): suspended'],
      ['B', 'reads total: 0'],
      ['A', 'writes 0 + 5'],
      ['B', 'writes 0 + 7: the 5 is lost'],
    ],
    window: [2, 5],
    fixed: source`
      let total = 0

      export async function add(item: string): Promise<number> {
        const price = await priceOf(item)
        total += price
        return total
      }
    `,
    fixes: [
      'Await first, then read and write in one region.',
      'Hold a mutex over the whole.',
      'Keep what was added, and make the sum when it is asked for.',
    ],
  },
  {
    id: 'H502',
    name: 'reset-then-fill',
    class: 'atomicity-gap',
    level: 'error',
    summary:
      'State is emptied before a suspension and filled after it, and others read it meanwhile.',
    what: `A shared location is reset (cleared, emptied, set to undefined), the task is suspended, and
the location is filled again; somebody else reads it.`,
    why: `Readers see nothing where something always is: an empty list of routes, a missing user. If the
suspension fails, it stays empty.`,
    race: source`
      const routes = new Map<string, string>()

      export async function reload(): Promise<void> {
        routes.clear()
        for (const [path, target] of await readRoutes()) routes.set(path, target)
      }

      export function resolve(path: string): string | undefined {
        return routes.get(path)
      }
    `,
    steps: [
      ['A', 'reload(): clears the routes'],
      ['A', 'await readRoutes(): suspended'],
      ['B', 'resolve(): there is no such route, 404'],
      ['A', 'fills in the routes'],
    ],
    window: [1, 4],
    fixed: source`
      let routes = new Map<string, string>()

      export async function reload(): Promise<void> {
        const next = new Map(await readRoutes())
        routes = next
      }

      export function resolve(path: string): string | undefined {
        return routes.get(path)
      }
    `,
    fixes: [
      'Make the new state beside the old one, and exchange them in one step.',
      'Empty it only after the suspension, in the region that fills it.',
    ],
  },
  {
    id: 'H503',
    name: 'torn-pair',
    class: 'atomicity-gap',
    level: 'warning',
    summary:
      'Two fields that change together elsewhere are changed here on two sides of a suspension.',
    what: `In at least one other place two shared locations are written in one region. Here there is a
suspension between the two writes.`,
    why: `In between, one says that the thing exists and the other that it does not. Code that relies on
the pair goes wrong in a way that neither field explains.`,
    race: source`
      export class Cache {
        #values = new Map<string, string>()
        #resources = new Map<string, Resource>()

        put(key: string, value: string, resource: Resource): void {
          this.#values.set(key, value)
          this.#resources.set(key, resource)
        }

        async drop(key: string): Promise<void> {
          this.#values.delete(key)
          await this.#resources.get(key)?.close()
          this.#resources.delete(key)
        }

        get(key: string): string | undefined {
          if (this.#resources.has(key)) return this.#values.get(key)!.trim()
          return undefined
        }
      }
    `,
    steps: [
      ['A', 'drop(k): deletes the value'],
      ['A', 'await close(): suspended'],
      ['B', 'get(k): the resource is there, the value is not: TypeError'],
      ['A', 'deletes the resource'],
    ],
    window: [1, 4],
    fixed: source`
      export class Cache {
        #values = new Map<string, string>()
        #resources = new Map<string, Resource>()

        put(key: string, value: string, resource: Resource): void {
          this.#values.set(key, value)
          this.#resources.set(key, resource)
        }

        async drop(key: string): Promise<void> {
          const resource = this.#resources.get(key)
          this.#values.delete(key)
          this.#resources.delete(key)
          await resource?.close()
        }

        get(key: string): string | undefined {
          if (this.#resources.has(key)) return this.#values.get(key)!.trim()
          return undefined
        }
      }
    `,
    fixes: [
      'Change both in one region, and do the slow part before or after.',
      'Keep both in one object, and exchange the object.',
    ],
  },
  {
    id: 'H504',
    name: 'floating-dependency',
    class: 'atomicity-gap',
    level: 'error',
    summary: 'A promise is not awaited, although what follows reads what it writes.',
    what: `An async call is started and not awaited; it writes a shared location; the caller then reads
that location, or tells others that it is done.`,
    why: `The read gets the old value, mostly: sometimes the write is fast enough, and the tests pass.`,
    race: source`
      export class Tokens {
        #current = ''

        async #store(tokens: string): Promise<void> {
          await writeTokens(tokens)
          this.#current = tokens
        }

        async refresh(): Promise<string> {
          const tokens = await requestTokens()
          this.#store(tokens)
          return this.#current
        }
      }
    `,
    steps: [
      ['A', 'refresh(): starts to store the tokens, and does not wait'],
      ['A', 'returns the old tokens'],
      ['B', 'the tokens are stored'],
    ],
    window: [1, 3],
    fixed: source`
      export class Tokens {
        #current = ''

        async #store(tokens: string): Promise<void> {
          await writeTokens(tokens)
          this.#current = tokens
        }

        async refresh(): Promise<string> {
          const tokens = await requestTokens()
          await this.#store(tokens)
          return this.#current
        }
      }
    `,
    fixes: ['Await it.', 'Use the value that you have, instead of reading it back.'],
  },
  {
    id: 'H505',
    name: 'late-read',
    class: 'atomicity-gap',
    level: 'warning',
    summary: 'An operation is started, and state that it reads later is changed at once.',
    what: `An async call is started without being awaited, then a shared location is written, and the
started operation reads that location after its own first suspension.`,
    why: `The operation was meant to see the state as it was when it started. It sees what came after.`,
    race: source`
      export class Recorder {
        #buffer: string[] = []

        add(line: string): void {
          this.#buffer.push(line)
        }

        async #write(): Promise<void> {
          const file = await openFile()
          await file.append(this.#buffer.join('\n'))
        }

        flush(): Promise<void> {
          const writing = this.#write()
          this.#buffer = []
          return writing
        }
      }
    `,
    steps: [
      ['A', 'flush(): starts to write'],
      ['B', '#write(): await openFile(): suspended'],
      ['A', 'empties the buffer'],
      ['B', 'goes on, and writes an empty buffer: the lines are lost'],
    ],
    window: [2, 4],
    fixed: source`
      export class Recorder {
        #buffer: string[] = []

        add(line: string): void {
          this.#buffer.push(line)
        }

        async #write(lines: readonly string[]): Promise<void> {
          const file = await openFile()
          await file.append(lines.join('\n'))
        }

        flush(): Promise<void> {
          const lines = this.#buffer
          this.#buffer = []
          return this.#write(lines)
        }
      }
    `,
    fixes: [
      'Hand over what the operation needs, as an argument.',
      'Change the state after the operation has ended.',
    ],
  },
]
