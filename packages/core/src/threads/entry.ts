/** The code of a pool thread. Imports little: loading it delays the first job. */
import { workerData } from 'node:worker_threads'
import { systemClock } from '../kernel/clock.ts'
import type { ThreadData } from './thread-messages.ts'
import { Runner } from './task-runner.ts'

export const runner: Runner = new Runner(workerData as ThreadData, systemClock)
