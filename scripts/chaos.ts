/**
 * Plays a chaos program: `npm run test:chaos [-- <program> <options>]`. chaos/README.md describes each.
 *
 * Without a name processes that run graphs are killed (`--kills 200 …`). Exit codes: 0 as promised, 1 not as promised,
 * 2 a wrong call.
 */
import path from 'node:path'
import { isWrongCall } from '../chaos/call.ts'
import type { httpPrograms } from '../chaos/http/programs.ts'
import { root } from './tool.ts'

// Hundreds of short processes: reading compiled code back saves most of their time.
process.env['NODE_COMPILE_CACHE'] ??= path.join(root, 'node_modules/.cache/compile')

interface Program {
  readonly summary: string
  /** Resolves with the exit code. */
  readonly play: (args: readonly string[]) => Promise<number>
}

type HttpName = keyof typeof httpPrograms

const overHttp = (name: HttpName, summary: string): Program => ({
  summary,
  play: async (args) => (await import('../chaos/http/programs.ts')).httpPrograms[name](args),
})

/** Loaded when they are played: each brings other parts of the house with it. */
const programs: Readonly<Record<string, Program>> = {
  runs: {
    summary: 'kill processes that run graphs; played when no program is named',
    play: async (args) => (await import('../chaos/crash/program.ts')).playCrashes(args),
  },
  growing: {
    summary: 'kill runs with maps, sub-graphs, steps, sleeps and signals',
    play: async (args) => (await import('../chaos/growing/program.ts')).playGrowing(args),
  },
  'growing-seeds': {
    summary: 'random growing graphs in virtual time',
    play: async (args) => {
      const { playSeed } = await import('../packages/core/test/run/growing-model.ts')
      return (await import('../chaos/seeds.ts')).playSeeds(args, playSeed)
    },
  },
  'many-steps': {
    summary: 'a job with a million steps, cut off in the middle and resumed',
    play: async (args) => (await import('../chaos/growing/many-steps.ts')).manyStepsProgram(args),
  },
  store: {
    summary: 'three servers on one PostgreSQL: kills, stops, cut links, a full disk, a replica',
    play: async (args) => (await import('../chaos/store/program.ts')).playStore(args),
  },
  'limit-seeds': {
    summary: 'limits that all servers share, in virtual time',
    play: async (args) => {
      const { simulate } = await import('../packages/core/test/capacity/cluster-limits-model.ts')
      return (await import('../chaos/seeds.ts')).playSeeds(args, (seed) => simulate(seed))
    },
  },
  'store-seeds': {
    summary: 'servers that share a store, in virtual time',
    play: async (args) => {
      const { simulate } = await import('../packages/core/test/store/simulation/cluster.ts')
      const play = async (seed: number) => (await simulate({ seed })).counts()
      return (await import('../chaos/seeds.ts')).playSeeds(args, play)
    },
  },
  'fleet-scale': {
    summary: 'a fleet of any size, in virtual time',
    play: async (args) => (await import('../chaos/fleet/program.ts')).playScale(args),
  },
  release: {
    summary: 'kill releases',
    play: async (args) => (await import('../chaos/release/program.ts')).playRelease(args),
  },
  'slow-senders': overHttp('slow-senders', 'connections that send a byte per second'),
  malformed: overHttp('malformed', 'requests that are wrong in many ways'),
  'kill-serve': overHttp('kill-serve', 'kill a server under load, again and again'),
  'drain-serve': overHttp('drain-serve', 'end a server by SIGTERM under load, again and again'),
  'large-results': overHttp('large-results', 'a thousand callers that wait for one large result'),
}

const usage = [
  'Usage: npm run test:chaos [-- <program> <options>]',
  '',
  ...Object.entries(programs).map(([name, { summary }]) => `  ${name.padEnd(15)}${summary}`),
  '',
  'Options and checks of each program: chaos/README.md. Example: npm run test:chaos -- --kills 1000 --seed 7',
].join('\n')

function programOf(first: string | undefined): readonly [program: string, skip: number] {
  if (first === undefined) return ['runs', 0]
  // `--store postgres` names the program by its option.
  if (first.startsWith('--')) return [first.startsWith('--store') ? 'store' : 'runs', 0]
  return [first, 1]
}

async function main(args: readonly string[]): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    console.log(usage)
    return 0
  }
  const [name, skip] = programOf(args[0])
  if (!Object.hasOwn(programs, name)) {
    console.error(`There is no chaos program ${JSON.stringify(name)}.\n\n${usage}`)
    return 2
  }
  try {
    return await programs[name]!.play(args.slice(skip))
  } catch (error) {
    if (!isWrongCall(error)) throw error
    console.error(`${error.message}\nTry: npm run test:chaos -- --help`)
    return 2
  }
}

process.exit(await main(process.argv.slice(2)))
