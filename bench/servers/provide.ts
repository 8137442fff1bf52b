import { findProgram, type ServerProgram } from '@heddle/test-servers'
import { installPackages, obstacle } from './install.ts'

/** Debian's packages. */
const packageOf = { 'redis-server': 'redis-server', postgres: 'postgresql' } as const

export type Server = keyof typeof packageOf

export const serverNames = Object.keys(packageOf) as Server[]

export interface ProvideOptions {
  /** Installs missing programs, where that is possible. */
  readonly install: boolean
  readonly onProgress: (line: string) => void
}

/** Looks for the programs of servers. The answer has those that are not there, each with the repair. */
export async function provideServers(
  wanted: readonly Server[],
  { install, onProgress }: ProvideOptions,
): Promise<Map<Server, string>> {
  let hindrance = install ? obstacle() : undefined
  const packages = wanted.filter(isAbsent).map((server) => packageOf[server])
  if (install && hindrance === undefined && packages.length > 0) {
    onProgress(`installing ${packages.join(', ')} with apt-get`)
    try {
      await installPackages(packages)
    } catch (error) {
      hindrance = error instanceof Error ? error.message : String(error)
    }
  }
  return new Map(
    wanted.filter(isAbsent).map((server) => {
      const help = `install Debian's package ${packageOf[server]}, or run as root with --install`
      return [server, `${server} is not on this machine (${hindrance ?? help})`]
    }),
  )
}

function isAbsent(server: Server): boolean {
  const programs: ServerProgram[] = server === 'postgres' ? ['postgres', 'initdb'] : [server]
  return programs.some((program) => findProgram(program) === undefined)
}
