import { randomBytes } from 'node:crypto'
import path from 'node:path'
import {
  findProgram,
  freePort,
  portsTried,
  serverIdentity,
  type Keeper,
} from '@heddle/test-servers'

/** When Redis has its log of commands written to the disk. It is always given to the system at once. */
export type AppendFsync = 'everysec' | 'always'

/** Starts Redis on the loopback. Resolves with its address. */
export function startRedis(keeper: Keeper, appendFsync: AppendFsync): Promise<string> {
  const file = findProgram('redis-server')
  if (file === undefined) throw new Error('redis-server is not on this machine')
  const owner = serverIdentity('redis')
  return portsTried(async (attempt) => {
    const port = await freePort()
    const password = randomBytes(16).toString('hex')
    const folder = `redis-${appendFsync}-${attempt}`
    await keeper.start({
      folder,
      files: { 'redis.conf': configuration(port, password, appendFsync) },
      ...(owner && { owner }),
      before: [],
      server: { file, args: [path.join(keeper.folder, folder, 'redis.conf')] },
      ready: 'Ready to accept connections',
      stopSignal: 'SIGTERM',
    })
    return `redis://:${password}@127.0.0.1:${port}`
  })
}

/** Snapshots and rewrites of the log are off: they would fall into a measured round. */
function configuration(port: number, password: string, appendFsync: AppendFsync): string {
  return `
    bind 127.0.0.1
    port ${port}
    requirepass ${password}
    daemonize no
    appendonly yes
    appendfsync ${appendFsync}
    auto-aof-rewrite-percentage 0
    save ""
  `.replaceAll(/^ +/gm, '')
}
