/** The jobs of the thread rows, as our users define them. */
import { job } from '@heddle/core'
import * as plain from '../peers/thread-jobs.ts'

const module = import.meta.url

export const tiny = job({ name: 'tiny', place: 'thread', module }, plain.tiny)
export const spin = job({ name: 'spin', place: 'thread', module }, plain.spin)
