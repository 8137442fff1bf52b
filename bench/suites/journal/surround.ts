/** The surroundings of the suites of the journal and the store: a folder on a real disk, installed peers, servers. */
import { statfs } from 'node:fs/promises'
import { openKeeper, startPostgres, type Keeper } from '@heddle/test-servers'
import type { SurroundOptions, Surroundings } from '../../harness/row.ts'
import { installPeers } from '../../servers/install-peers.ts'
import { provideServers, type Server } from '../../servers/provide.ts'
import { startRedis } from '../../servers/redis.ts'
import { folderVariable } from '../../servers/work-folder.ts'
import { needs, postgresVariable, redisVariable } from './needs.ts'

interface ServerNeed {
  readonly need: string
  readonly server: Server
  readonly variable: string
  readonly start: (keeper: Keeper) => Promise<string>
}

const servers: readonly ServerNeed[] = [
  {
    need: needs.redisAlways,
    server: 'redis-server',
    variable: redisVariable.fsync,
    start: (keeper) => startRedis(keeper, 'always'),
  },
  {
    need: needs.redisEverysec,
    server: 'redis-server',
    variable: redisVariable.process,
    start: (keeper) => startRedis(keeper, 'everysec'),
  },
  {
    need: needs.postgres,
    server: 'postgres',
    variable: postgresVariable,
    // Written out although they are the defaults: the rows are about them.
    start: (keeper) =>
      startPostgres(keeper, {
        settings: ['fsync=on', 'synchronous_commit=on', 'full_page_writes=on'],
      }),
  },
]

export async function surround(
  wanted: ReadonlySet<string>,
  options: SurroundOptions,
  /** Servers that ours talks to as well. */
  ownServers: readonly string[] = [],
): Promise<Surroundings> {
  const missing = new Map<string, string>()
  if (wanted.has(needs.peers)) {
    const reason = await installPeers('journal', options)
    if (reason !== undefined) missing.set(needs.peers, reason)
  }
  // Without the libraries only ours talks to servers.
  const hasPeers = !missing.has(needs.peers)
  const used = servers.filter(
    ({ need }) => wanted.has(need) && (hasPeers || ownServers.includes(need)),
  )
  const absent = await provideServers([...new Set(used.map(({ server }) => server))], options)
  const keeper = await openKeeper()
  const environment: Record<string, string> = { [folderVariable]: keeper.folder }
  for (const { need, server, variable, start } of used) {
    const reason = absent.get(server)
    if (reason !== undefined) {
      missing.set(need, reason)
      continue
    }
    options.onProgress(`starting ${need}`)
    try {
      environment[variable] = await start(keeper)
    } catch (error) {
      missing.set(need, error instanceof Error ? error.message : String(error))
    }
  }
  return {
    environment,
    missing,
    notes: (await isInMemory(keeper.folder)) ? [inMemoryNote(keeper.folder)] : [],
    [Symbol.asyncDispose]: () => keeper[Symbol.asyncDispose](),
  }
}

/** The numbers of Linux for file systems that forget: tmpfs and ramfs. */
const memoryTypes: readonly number[] = [0x01_02_19_94, 0x85_84_58_f6]

async function isInMemory(folder: string): Promise<boolean> {
  const { type } = await statfs(folder)
  return process.platform === 'linux' && memoryTypes.includes(type)
}

function inMemoryNote(folder: string): string {
  return `${folder} is in memory, where fsync costs nothing: set TMPDIR to a folder on a disk`
}
