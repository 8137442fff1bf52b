/**
 * PostgreSQL for tests: one cluster for a whole `npm test`, started when the first file asks for it, and one
 * database for each file.
 *
 *     scripts/test.ts ── provideTestPostgres() ──▶ listens on a port of the loopback
 *     a test file ── openDatabase() ──▶ asks there for the cluster's address ──▶ makes its database
 *
 *  P1  A test file that is run alone starts a cluster of its own.
 *  P2  The cluster and its folder go with the process that started it, however that ends (K1).
 *  P3  The database of a file is dropped at its end, with the connections that it left open.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Client } from 'pg'
import { openKeeper, type Keeper } from './keep.ts'
import { startPostgres } from './postgres.ts'

/** Names the port at which test files ask for the cluster. */
const portVariable = 'HEDDLE_TEST_POSTGRES'

/** What is committed survives kill -9 of the server, not power loss: tests cut no power. */
const settings = ['fsync=off', 'full_page_writes=off', 'max_connections=200']

interface Cluster extends AsyncDisposable {
  readonly address: string
}

/** Starts a cluster as soon as a test file asks for it. Sets the environment that test files inherit. */
export async function provideTestPostgres(): Promise<AsyncDisposable> {
  let cluster: Promise<Cluster> | undefined
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    // A file that was killed while it asked needs no answer.
    socket.on('error', () => undefined)
    cluster ??= startCluster()
    cluster.then(
      ({ address }) => socket.end(address),
      (error: Error) => socket.end(`failed ${error.message}`),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.env[portVariable] = String((server.address() as AddressInfo).port)
  return {
    async [Symbol.asyncDispose]() {
      server.close()
      const started = await cluster?.catch(() => undefined)
      await started?.[Symbol.asyncDispose]()
    },
  }
}

/** A database of one test file. */
export interface TestDatabase extends AsyncDisposable {
  /** With user and password. The user is a superuser. */
  readonly address: string
}

/** Makes an empty database. */
export async function openDatabase(): Promise<TestDatabase> {
  const cluster = await findCluster()
  const name = `test_${randomBytes(6).toString('hex')}`
  await administer(cluster.address, `CREATE DATABASE ${name}`)
  const address = new URL(cluster.address)
  address.pathname = `/${name}`
  return {
    address: address.href,
    async [Symbol.asyncDispose]() {
      await administer(cluster.address, `DROP DATABASE ${name} WITH (FORCE)`)
      await cluster[Symbol.asyncDispose]()
    },
  }
}

async function findCluster(): Promise<Cluster> {
  const port = process.env[portVariable]
  if (port === undefined) return startCluster()
  const socket = connect(Number(port), '127.0.0.1')
  const answer = await text(socket.end())
  if (!answer.startsWith('postgres:')) throw new Error(`no PostgreSQL for tests: ${answer}`)
  return { address: answer, async [Symbol.asyncDispose]() {} }
}

async function startCluster(): Promise<Cluster> {
  const keeper: Keeper = await openKeeper()
  try {
    const address = await startPostgres(keeper, { settings })
    return { address, [Symbol.asyncDispose]: () => keeper[Symbol.asyncDispose]() }
  } catch (error) {
    await keeper[Symbol.asyncDispose]()
    throw error
  }
}

async function administer(connectionString: string, statement: string): Promise<void> {
  const client = new Client({ connectionString })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
