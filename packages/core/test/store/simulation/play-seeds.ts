/** In a thread: plays the histories of some seeds. Throws for the first that breaks a rule. */
import { workerData } from 'node:worker_threads'
import { simulate } from './cluster.ts'

const { from, to } = workerData as { readonly from: number; readonly to: number }
for (let seed = from; seed <= to; seed++) {
  try {
    await simulate({ seed })
  } catch (error) {
    throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error })
  }
}
