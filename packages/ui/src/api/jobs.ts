/** Served jobs: submit one, and wait for its result. */
import type { Pending, ReplyBody, Result } from '@heddle/server/client'
import { call, callWithHead } from './client.ts'

export type ServedJob = ReplyBody<'GET /jobs'>['jobs'][number]

export async function listJobs(signal: AbortSignal): Promise<readonly ServedJob[]> {
  return (await call('GET /jobs', { signal })).jobs
}

/** Where a result is, or will be: the address of `GET /results/:handle/:index`. */
interface ResultPlace {
  readonly handle: string
  readonly index: number
}

export type JobAnswer =
  | (ResultPlace & { readonly kind: 'pending' })
  | (ResultPlace & { readonly kind: 'value'; readonly value: unknown })
  | (ResultPlace & {
      readonly kind: 'bytes'
      readonly type: string
      /** What a text type says; other bytes are only counted. */
      readonly body: string | Uint8Array
    })

/** Submits a job and waits for its result for at most this many milliseconds. */
export async function submitJob(
  name: string,
  body: unknown,
  wait: number,
  signal: AbortSignal,
): Promise<JobAnswer> {
  const options = { params: { name }, query: { wait }, body, signal }
  return toAnswer(await callWithHead('POST /jobs/:name', options))
}

/** Waits for a result that was pending, for at most this many milliseconds. */
export async function waitForResult(
  { handle, index }: ResultPlace,
  wait: number,
  signal: AbortSignal,
): Promise<JobAnswer> {
  const options = { params: { handle, index }, query: { wait }, signal }
  return toAnswer(await callWithHead('GET /results/:handle/:index', options))
}

function toAnswer(reply: {
  readonly status: number
  readonly headers: Headers
  readonly body: Result | Pending
}): JobAnswer {
  const type = reply.headers.get('content-type') ?? ''
  if (!type.startsWith('application/json')) {
    // Bytes come as they are: where they are kept is in a header.
    const [, handle = '', index = '0'] =
      /\/results\/([^/]+)\/(-?\d+)$/.exec(reply.headers.get('content-location') ?? '') ?? []
    const body = reply.body as unknown as string | Uint8Array
    return { kind: 'bytes', handle: decodeURIComponent(handle), index: Number(index), type, body }
  }
  const { handle, index } = reply.body
  if (reply.status === 202) return { kind: 'pending', handle, index }
  return { kind: 'value', handle, index, value: (reply.body as Result).result }
}
