import { randomBytes } from 'node:crypto'
import { cpSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { postgresPrograms, type PostgresPrograms } from './find.ts'
import { freePort } from './free-port.ts'
import { serverIdentity } from './identity.ts'
import type { Keeper } from './keep.ts'
import { isOpenToAll } from './open-to-all.ts'
import { portsTried } from './ports-tried.ts'

const user = 'heddle'

export interface StartPostgresOptions {
  /** Settings of the server, such as `fsync=off`. */
  readonly settings?: readonly string[]
}

/** Starts PostgreSQL on the loopback. Resolves with the address of its empty database. */
export function startPostgres(
  keeper: Keeper,
  { settings: given = [] }: StartPostgresOptions = {},
): Promise<string> {
  const found = postgresPrograms()
  if (found === undefined) {
    throw new Error('PostgreSQL 15 or newer is not on this machine, and npm has installed none')
  }
  const owner = serverIdentity('postgres')
  const { initdb, postgres } = owner === undefined ? found : reachable(found, keeper.folder)
  return portsTried(async (attempt) => {
    const port = await freePort()
    const password = randomBytes(16).toString('hex')
    const folder = `postgres-${attempt}`
    const own = path.join(keeper.folder, folder)
    const data = path.join(own, 'data')
    const settings = [
      ...given,
      `port=${port}`,
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
    ]
    await keeper.start({
      folder,
      files: { password },
      ...(owner && { owner }),
      before: [
        {
          file: initdb,
          args: [
            `--pgdata=${data}`,
            `--username=${user}`,
            `--pwfile=${path.join(own, 'password')}`,
            '--auth=scram-sha-256',
            '--encoding=UTF8',
            '--locale=C',
            '--no-sync',
          ],
        },
      ],
      server: {
        file: postgres,
        args: ['-D', data, ...settings.flatMap((setting) => ['-c', setting])],
      },
      ready: 'ready to accept connections',
      stopSignal: 'SIGINT',
    })
    return `postgres://${user}:${password}@127.0.0.1:${port}/postgres`
  })
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
