/**
 * One connection to PostgreSQL that is made when it is needed, and made again after it was lost.
 *
 *     absent ──call──▶ connecting ──▶ open ──(lost, no answer in time, close)──▶ absent
 *
 * Invariants:
 *  L1  A call is one statement in one message, with bound parameters and without a name: it works behind pgbouncer in
 *      transaction mode, and the server never waits for the client inside a transaction.
 *  L2  Calls follow each other. Each ends with its rows, or with an error within `answerWithin` of its turn: a
 *      connection that does not answer is dropped, because the unanswered call blocks those behind it.
 *  L3  No error holds the address of the database.
 *  L4  A connection on which nothing is under way does not keep the process alive.
 */
import { Socket } from 'node:net'
import { HeddleError, describe } from '../../errors.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { PostgresAddress } from './address.ts'
import { loadDriver, type PgClient } from './driver.ts'

export interface LinkOptions {
  readonly address: PostgresAddress
  readonly clock: Clock
  /** Milliseconds to wait for one answer, connecting included. Default 5,000. */
  readonly answerWithin?: number
  /** Runs on every new connection before anything else. */
  readonly prepare?: (client: PgClient) => Promise<void>
  readonly onLost?: () => void
  /** Shown by `pg_stat_activity`. */
  readonly name?: string
}

/** A refusal by PostgreSQL, as opposed to a missing answer. */
export interface Refused extends HeddleError<'HDL_STORE_FAILED'> {
  readonly sqlState: string
}

export type Parameters = readonly unknown[] | (() => readonly unknown[])

interface Connection {
  readonly client: PgClient
  readonly socket: Socket
  isBusy: boolean
}

export class Link {
  readonly #options: LinkOptions
  readonly #answerWithin: number
  #connection: Promise<Connection> | undefined
  /** The one that `#connection` has resolved with. */
  #current: Connection | undefined
  /** Ends with the last call that was made. */
  #lastCall: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(options: LinkOptions) {
    this.#options = options
    this.#answerWithin = options.answerWithin ?? 5_000
  }

  /**
   * Sends one statement, or several without parameters. Rows are arrays of their columns. Parameters that are a function are
   * asked for once, when it is the call's turn: also when there is no connection then.
   *
   * *Cancellation*: none; it ends by itself (L2). The statement may have been carried out although it failed.
   * @throws `HDL_STORE_FAILED`, `HDL_NO_DRIVER`, `HDL_CLOSED`.
   */
  call<Row extends unknown[]>(
    action: string,
    statement: string,
    parameters?: Parameters,
  ): Promise<Row[]> {
    const call = this.#lastCall.then(() => {
      const values = typeof parameters === 'function' ? parameters() : parameters
      return this.#send<Row>(action, statement, values)
    })
    this.#lastCall = call.catch(() => undefined)
    return call
  }

  async #send<Row extends unknown[]>(
    action: string,
    statement: string,
    parameters: readonly unknown[] | undefined,
  ): Promise<Row[]> {
    const connection = await this.#open(action)
    const { client, socket } = connection
    const timer = this.#options.clock.setTimer(this.#answerWithin, () => this.#drop(connection))
    connection.isBusy = true
    socket.ref()
    try {
      return await rowsOf<Row>(client, statement, parameters)
    } catch (error) {
      if (sqlStateOf(error) === undefined) this.#drop(connection)
      throw this.#failure(action, error)
    } finally {
      timer.cancel()
      connection.isBusy = false
      socket.unref()
    }
  }

  /** Drops a connection on which something is under way: it does not answer, and would be in the way. */
  dropIfBusy(): void {
    if (this.#current?.isBusy === true) this.#drop(this.#current)
  }

  /** Ends calls under way first. Closing twice is harmless. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#lastCall
    const connection = await this.#connection?.catch(() => undefined)
    if (connection === undefined) return
    connection.socket.ref()
    const timer = this.#options.clock.setTimer(this.#answerWithin, () =>
      connection.socket.destroy(),
    )
    await connection.client.end().catch(() => undefined)
    timer.cancel()
  }

  async #open(action: string): Promise<Connection> {
    if (this.#isClosed) {
      throw new HeddleError('HDL_CLOSED', {
        what: `The connection to ${this.#options.address.shown}`,
      })
    }
    this.#connection ??= this.#connect()
    try {
      return await this.#connection
    } catch (error) {
      throw this.#failure(action, error)
    }
  }

  async #connect(): Promise<Connection> {
    const { address, clock, prepare, onLost, name = 'heddle' } = this.#options
    let timer: { cancel(): void } | undefined
    const socket = new Socket()
    try {
      const Client = await loadDriver()
      const client = new Client({
        connectionString: address.connectionString,
        application_name: name,
        keepAlive: true,
        stream: () => socket,
      })
      timer = clock.setTimer(this.#answerWithin, () => {
        socket.destroy(new Error(`no answer within ${this.#answerWithin} ms`))
      })
      const connection = { client, socket, isBusy: false }
      // The error comes with the calls that are under way, or with the next one.
      client.on('error', () => undefined)
      await client.connect()
      await prepare?.(client)
      client.on('end', () => {
        this.#forget(connection)
        if (!this.#isClosed) onLost?.()
      })
      socket.unref()
      return (this.#current = connection)
    } catch (error) {
      this.#connection = undefined
      socket.destroy()
      throw error
    } finally {
      timer?.cancel()
    }
  }

  #drop(connection: Connection): void {
    this.#forget(connection)
    connection.socket.destroy()
  }

  #forget(connection: Connection): void {
    if (this.#current !== connection) return
    this.#current = undefined
    this.#connection = undefined
  }

  #failure(action: string, error: unknown): HeddleError {
    if (error instanceof HeddleError) return error
    return failure(this.#options.address, action, error)
  }
}

/**
 * The rows of one statement, by the driver's callback. Its promise would keep them: each of its queries holds the promise that holds
 * the rows, and V8 carried 40 % of what was read through every young collection, with pauses of 12 ms on the loop (callback: none).
 */
function rowsOf<Row extends unknown[]>(
  client: PgClient,
  text: string,
  parameters: readonly unknown[] | undefined,
): Promise<Row[]> {
  const values = parameters !== undefined && { values: [...parameters] }
  return new Promise((resolve, reject) => {
    client.query<Row>({ text, rowMode: 'array', ...values }, (error, result) => {
      if (error) reject(error)
      else resolve(result.rows)
    })
  })
}

/** The error of a call that the database did not carry out. */
function failure(
  { shown }: PostgresAddress,
  action: string,
  error: unknown,
): HeddleError<'HDL_STORE_FAILED'> {
  const made = new HeddleError(
    'HDL_STORE_FAILED',
    { store: shown, action, cause: causeOf(error) },
    { cause: error },
  )
  const sqlState = sqlStateOf(error)
  return sqlState === undefined ? made : Object.assign(made, { sqlState })
}

/** What the driver says in words of its own, in plain ones. */
function causeOf(error: unknown): string {
  const cause = describe(firstOf(error))
  if (/client password must be a (non-empty )?string/.test(cause)) {
    return 'it asks for a password, and the address, PGPASSWORD and ~/.pgpass have none'
  }
  if (/unable to verify the first certificate|self-signed certificate/.test(cause)) {
    return `its certificate is of an authority that this machine does not know (${cause}): name its file with sslrootcert=FILE`
  }
  return cause
}

/** A host with several addresses fails with one error for each. */
function firstOf(error: unknown): unknown {
  return error instanceof AggregateError ? error.errors[0] : error
}

/** The code of an answer of PostgreSQL; undefined for errors of the connection. Those that end the connection count as such. */
function sqlStateOf(error: unknown): string | undefined {
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  if (typeof code !== 'string' || severity === undefined) return undefined
  return /^(57P0|08)/.test(code) ? undefined : code
}

/** Whether PostgreSQL has refused it with this code: then nothing of it was carried out. */
export function isRefused(error: unknown, ...sqlStates: readonly string[]): error is Refused {
  const { sqlState } = error as Partial<Refused>
  return sqlState !== undefined && (sqlStates.length === 0 || sqlStates.includes(sqlState))
}
