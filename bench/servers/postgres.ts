import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { findProgram } from './find.ts'
import { freePort } from './free-port.ts'
import { serverIdentity } from './identity.ts'
import type { Keeper } from './keep.ts'
import { portsTried } from './ports-tried.ts'

const user = 'bench'

/** Written out although they are the defaults: the rows are about them. */
const durability = ['fsync=on', 'synchronous_commit=on', 'full_page_writes=on']

/** Starts PostgreSQL on the loopback. Resolves with the address of its empty database. */
export function startPostgres(keeper: Keeper): Promise<string> {
  const initdb = findProgram('initdb')
  const file = findProgram('postgres')
  if (initdb === undefined || file === undefined) {
    throw new Error('postgres and initdb are not on this machine')
  }
  const owner = serverIdentity('postgres')
  return portsTried(async (attempt) => {
    const port = await freePort()
    const password = randomBytes(16).toString('hex')
    const folder = `postgres-${attempt}`
    const own = path.join(keeper.folder, folder)
    const data = path.join(own, 'data')
    const settings = [
      ...durability,
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
      server: { file, args: ['-D', data, ...settings.flatMap((setting) => ['-c', setting])] },
      ready: 'ready to accept connections',
      stopSignal: 'SIGINT',
    })
    return `postgres://${user}:${password}@127.0.0.1:${port}/postgres`
  })
}
