/** What is behind the reference of a failure. */
import type { CallError, FailureDetail } from '@heddle/server/client'
import { call } from './client.ts'
import { has } from './features.ts'
import { may } from './session.ts'

export type { FailureDetail }

export function readFailure(reference: string, signal: AbortSignal): Promise<FailureDetail> {
  return call('GET /failures/:reference', { params: { reference }, signal })
}

/** The reference of an error that this reader may look up. */
export function referenceOf(error: unknown): string | undefined {
  return mayLookUp() ? (error as Partial<CallError> | undefined)?.reference : undefined
}

export function mayLookUp(): boolean {
  return may('operator') && has('GET /failures/{reference}')
}
