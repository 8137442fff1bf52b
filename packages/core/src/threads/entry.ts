/** What a thread of the pool runs. Imports little: this is the time until its first job starts. */
import { workerData } from 'node:worker_threads'
import { systemClock } from '../kernel/clock.ts'
import type { ThreadData } from './messages.ts'
import { Runner } from './runner.ts'

export const runner: Runner = new Runner(workerData as ThreadData, systemClock)
