import { randomBytes } from 'node:crypto'
import { cpSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { postgresPrograms, type PostgresPrograms } from './find.ts'
import { freePort } from './free-port.ts'
import { serverIdentity } from './identity.ts'
import type { Keeper } from './keep.ts'
import type { Command, ServerPlan } from './messages.ts'
import { isOpenToAll } from './open-to-all.ts'
import { portsTried } from './ports-tried.ts'

const user = 'heddle'

export interface StartPostgresOptions {
  /** Settings of the server, such as `fsync=off`. */
  readonly settings?: readonly string[]
}

/** Starts PostgreSQL on the loopback. Resolves with the address of its empty database. */
export async function startPostgres(
  keeper: Keeper,
  { settings = [] }: StartPostgresOptions = {},
): Promise<string> {
  const server = await openPostgres(keeper, { settings })
  return server.address
}

export interface OpenPostgresOptions extends StartPostgresOptions {
  /** The folder below that of the keeper. Default `postgres`. */
  readonly name?: string
  /** A folder that belongs to {@link postgresOwner}: its data is made in there. Default: the folder of the server. */
  readonly parent?: string
  /** A server that was stopped: the new one gets a copy of its data, and becomes its replica. */
  readonly replicaOf?: PostgresServer
}

/** A PostgreSQL that can be ended and started again with its data and its port. */
export interface PostgresServer {
  /** Address of its database, with user and password. The user is a superuser. */
  readonly address: string
  readonly data: string
  /** Starts it again, with settings that come before those it was opened with. */
  start(settings?: readonly string[]): Promise<void>
  /** SIGKILL. The processes of its connections notice that and end by themselves. */
  kill(): Promise<void>
  /** Ends all connections, writes everything down and ends. */
  stop(): Promise<void>
}

/** The user that PostgreSQL runs as; undefined when it is that of this process. */
export function postgresOwner(): { uid: number; gid: number } | undefined {
  return serverIdentity('postgres')
}

/** Starts PostgreSQL on a free port of the loopback. */
export function openPostgres(
  keeper: Keeper,
  options: OpenPostgresOptions = {},
): Promise<PostgresServer> {
  const { settings: given = [], name = 'postgres', replicaOf } = options
  const found = postgresPrograms()
  if (found === undefined) {
    throw new Error('PostgreSQL 15 or newer is not on this machine, and npm has installed none')
  }
  const owner = postgresOwner()
  const { initdb, postgres } = owner === undefined ? found : reachable(found, keeper.folder)
  return portsTried(async (attempt) => {
    const port = await freePort()
    const folder = `${name}-${attempt}`
    const own = path.join(keeper.folder, folder)
    const data = path.join(options.parent ?? own, `${name}-data-${attempt}`)
    const password =
      replicaOf === undefined
        ? randomBytes(16).toString('hex')
        : new URL(replicaOf.address).password
    const before: Command[] =
      replicaOf === undefined
        ? [{ file: initdb, args: initArgs(data, path.join(own, 'password')) }]
        : [
            { file: 'cp', args: ['-a', replicaOf.data, data] },
            { file: 'touch', args: [path.join(data, 'standby.signal')] },
          ]
    const source = replicaOf === undefined ? [] : [`primary_conninfo=${sourceOf(replicaOf)}`]
    const plan = (more: readonly string[], first: readonly Command[]): ServerPlan => ({
      folder,
      files: { password },
      ...(owner && { owner }),
      before: first,
      server: {
        file: postgres,
        args: [
          '-D',
          data,
          ...[
            ...more,
            ...given,
            ...source,
            `port=${port}`,
            'listen_addresses=127.0.0.1',
            'unix_socket_directories=',
          ].flatMap((setting) => ['-c', setting]),
        ],
      },
      ready: 'ready to accept (read-only )?connections',
      stopSignal: 'SIGINT',
    })
    await keeper.start(plan([], before))
    return {
      address: `postgres://${user}:${password}@127.0.0.1:${port}/postgres`,
      data,
      start: (more = []) => startAgain(() => keeper.start(plan(more, []))),
      kill: () => keeper.end({ folder, signal: 'SIGKILL' }),
      stop: () => keeper.end({ folder, signal: 'SIGINT' }),
    }
  })
}

function initArgs(data: string, passwordFile: string): readonly string[] {
  return [
    `--pgdata=${data}`,
    `--username=${user}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--no-sync',
  ]
}

function sourceOf({ address }: PostgresServer): string {
  const { port, password } = new URL(address)
  return `host=127.0.0.1 port=${port} user=${user} password=${password} application_name=replica`
}

/**
 * Milliseconds for the processes of a killed server to end, or for a connection that has got its port: until then it cannot be
 * started again.
 */
const endLimit = 60_000

async function startAgain(start: () => Promise<void>): Promise<void> {
  const until = performance.now() + endLimit
  for (;;) {
    try {
      return await start()
    } catch (error) {
      const isHeld =
        error instanceof Error &&
        /still in use|already exists|address already in use/i.test(error.message)
      if (!isHeld || performance.now() > until) throw error
      await sleep(50)
    }
  }
}

/**
 * Programs that the unprivileged user can start: copies, where a parent folder is closed to others, as in
 * a checkout below root's home.
 */
function reachable(found: PostgresPrograms, folder: string): PostgresPrograms {
  if (isOpenToAll(path.dirname(found.postgres))) return found
  const copy = path.join(folder, 'postgres-programs')
  const from = realpathSync(path.resolve(found.postgres, '../..'))
  cpSync(from, copy, { recursive: true, verbatimSymlinks: true })
  return { postgres: path.join(copy, 'bin/postgres'), initdb: path.join(copy, 'bin/initdb') }
}
