/** Large results, cut into chunks that are in the database before a row names them. */
import { randomBytes } from 'node:crypto'
import { HeddleError } from '../../errors.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { joinBytes } from '../../sqlite/own-bytes.ts'
import type { Link } from '../../store/postgres/database-link.ts'
import { Semaphore } from '../../sync/semaphore.ts'
import type { Pieces } from '../encode.ts'
import { inlineLimit, type StoredValue } from '../batch.ts'
import { callPatiently, type Patience } from '../../store/postgres/patient-call.ts'
import type { RunPlace } from './reader.ts'

const chunkBytes = 256 * 1024

/** Large values that are encoded at a time: each has a chunk in memory. */
const atOnce = 2

export class ChunkWriter {
  readonly #link: Link
  readonly #statement: string
  readonly #permits: Semaphore
  readonly #patience: Patience

  constructor(link: Link, schema: string, kernel: Kernel, retryFor: number) {
    this.#link = link
    this.#patience = { clock: kernel.clock, retryFor }
    this.#statement = `INSERT INTO ${schema}.chunk (period, run, name, number, body) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT DO NOTHING`
    this.#permits = new Semaphore({ permits: atOnce, kernel })
  }

  /** Stores a value that takes longer to encode than a moment. It may turn out to be small. */
  async store(place: RunPlace, pieces: Pieces): Promise<StoredValue> {
    const permit = await this.#permits.acquire()
    try {
      return await this.#store(place, pieces)
    } finally {
      permit.release()
    }
  }

  async #store({ run, period }: RunPlace, pieces: Pieces): Promise<StoredValue> {
    const name = randomBytes(12).toString('hex')
    let gathered: Uint8Array<ArrayBuffer>[] = []
    let size = 0
    let number = 0
    const write = async (): Promise<void> => {
      const bytes = joinBytes(gathered)
      gathered = []
      size = 0
      for (let start = 0; start < bytes.length; start += chunkBytes) {
        const body = bytes.subarray(start, start + chunkBytes)
        const parameters = [period, run, name, number++, body]
        await callPatiently(this.#link, this.#patience, 'be written', this.#statement, parameters)
      }
    }
    for await (const piece of pieces) {
      gathered.push(piece)
      size += piece.length
      if (size >= chunkBytes) await write()
    }
    if (number === 0 && size <= inlineLimit) return { body: joinBytes(gathered) }
    await write()
    return { file: name }
  }
}

/** The error for a result of which chunks are missing. */
export function incomplete(address: string, node: string): HeddleError {
  return new HeddleError('HDL_STORE_FAILED', {
    store: address,
    action: `read the result of "${node}"`,
    cause: 'its chunks are gone',
  })
}
