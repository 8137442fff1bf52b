import type { Contender, Entrant, Row } from '../../harness/row.ts'
import type { ThreadCaller, ThreadJob } from './contract.ts'

/** Keeps `inFlight` calls on their way and checks every answer. */
function threadContender(call: ThreadCaller, job: ThreadJob, inFlight: number): Contender {
  return {
    prepare(size) {
      return async () => {
        let next = 0
        const lane = async () => {
          while (next < size) {
            const input = next++
            const answer = await call(job, input)
            if (answer !== input + 1) throw new Error(`answered ${answer} to ${input}`)
          }
        }
        await Promise.all(Array.from({ length: inFlight }, lane))
      }
    },
  }
}

export function threadEntrants(job: ThreadJob, inFlight: number): Row['entrants'] {
  const entrant = (role: Entrant['role'], open: () => Promise<ThreadCaller>): Entrant => ({
    role,
    load: async () => threadContender(await open(), job, inFlight),
  })
  return {
    heddle: entrant('ours', async () => (await import('../../ours/threads.ts')).open()),
    piscina: entrant('peer', async () => (await import('../../peers/piscina.ts')).open()),
    ...(inFlight > 1 && {
      'piscina x16': entrant('peer', async () =>
        (await import('../../peers/piscina.ts')).open({ concurrentTasksPerWorker: 16 }),
      ),
    }),
    tinypool: entrant('peer', async () => (await import('../../peers/tinypool.ts')).open()),
    poolifier: entrant('peer', async () => (await import('../../peers/poolifier.ts')).open()),
  }
}

/** The same calls as nodes of one graph, as most users make them: with permits, states and events. */
export function threadNodes(job: ThreadJob): Entrant {
  return {
    role: 'variant',
    load: async () => {
      const { nodes } = await import('../../ours/threads.ts')
      return { prepare: (size) => nodes(job, size) }
    },
  }
}
