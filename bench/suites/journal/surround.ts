/** What is around the journal suite: a folder on a real disk, installed peers, servers. */
import { statfs } from 'node:fs/promises'
import type { SurroundOptions, Surroundings } from '../../harness/row.ts'
import { findProgram } from '../../servers/find.ts'
import { installPackages, obstacle } from '../../servers/install.ts'
import { openKeeper, type Keeper } from '../../servers/keep.ts'
import { postgresPackage, startPostgres } from '../../servers/postgres.ts'
import { redisPackage, startRedis } from '../../servers/redis.ts'
import { installPeers } from './install-peers.ts'
import { needs, postgresVariable, redisVariable } from './needs.ts'
import { folderVariable } from './work-folder.ts'

interface ServerNeed {
  readonly need: string
  readonly program: 'redis-server' | 'postgres'
  readonly package: string
  readonly variable: string
  readonly start: (keeper: Keeper) => Promise<string>
}

const servers: readonly ServerNeed[] = [
  {
    need: needs.redisAlways,
    program: 'redis-server',
    package: redisPackage,
    variable: redisVariable.fsync,
    start: (keeper) => startRedis(keeper, 'always'),
  },
  {
    need: needs.redisEverysec,
    program: 'redis-server',
    package: redisPackage,
    variable: redisVariable.process,
    start: (keeper) => startRedis(keeper, 'everysec'),
  },
  {
    need: needs.postgres,
    program: 'postgres',
    package: postgresPackage,
    variable: postgresVariable,
    start: startPostgres,
  },
]

export async function surround(
  wanted: ReadonlySet<string>,
  options: SurroundOptions,
): Promise<Surroundings> {
  const missing = new Map<string, string>()
  const environment: Record<string, string> = {}
  const keeper = await openKeeper()
  try {
    environment[folderVariable] = keeper.folder
    if (wanted.has(needs.peers)) {
      const reason = await installPeers(options)
      if (reason !== undefined) missing.set(needs.peers, reason)
    }
    // Without the libraries nobody would talk to the servers.
    const used = missing.has(needs.peers) ? [] : servers.filter(({ need }) => wanted.has(need))
    await installMissing(used, missing, options)
    for (const { need, program, variable, start } of used) {
      if (missing.has(need)) continue
      options.onProgress(`starting ${need}`)
      try {
        environment[variable] = await start(keeper)
      } catch (error) {
        missing.set(need, error instanceof Error ? error.message : `${program}: ${String(error)}`)
      }
    }
    const notes = (await isInMemory(keeper.folder)) ? [inMemoryNote(keeper.folder)] : []
    return {
      environment,
      missing,
      notes,
      [Symbol.asyncDispose]: () => keeper[Symbol.asyncDispose](),
    }
  } catch (error) {
    await keeper[Symbol.asyncDispose]()
    throw error
  }
}

async function installMissing(
  used: readonly ServerNeed[],
  missing: Map<string, string>,
  { install, onProgress }: SurroundOptions,
): Promise<void> {
  const absent = () => used.filter(({ program }) => findProgram(program) === undefined)
  const packages = [...new Set(absent().map((server) => server.package))]
  if (packages.length === 0) return
  let hindrance = install ? obstacle() : undefined
  if (install && hindrance === undefined) {
    onProgress(`installing ${packages.join(', ')} with apt-get`)
    try {
      await installPackages(packages)
    } catch (error) {
      hindrance = error instanceof Error ? error.message : String(error)
    }
  }
  for (const { need, program, package: name } of absent()) {
    const help = `install Debian's package ${name}, or run as root with --install`
    missing.set(need, `${program} is not on this machine (${hindrance ?? help})`)
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
