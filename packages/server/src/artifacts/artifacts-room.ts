/**
 * The room of artifacts: workers upload what their jobs leave, people download it.
 *
 *  D1  An upload belongs to a lease that is held: its worker, its epoch. It is raw bytes with the length and the
 *      checksum of the whole; what arrived of one that was cut is kept, and the worker continues after it.
 *  D2  Bytes go from the socket to the store and back at the pace of the slower side; none are collected.
 *      Any server takes it (C6): one that does not answer for the lease asks the owner whose artifact it is, and writes
 *      the bytes
 *      itself, because servers on one database share what keeps artifacts. No byte is sent on.
 *  D3  Artifacts are for the tenant of the campaign, run or computation that they belong to. Another one gets the
 *      answer of an unknown campaign or run, and so does a request for anything else.
 */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { HeddleError, type ArtifactInfo } from '@heddle/core'
import { shardOf, type ArtifactStore, type Journal, type Tables } from '@heddle/core/lowlevel'
import { readCampaign } from '../campaigns/records.ts'
import * as contracts from '../client/contract/artifacts.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { ForwardAnswer } from '../cluster/forward.ts'
import { workOf } from '../fleet/elsewhere.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Caller } from '../http/caller.ts'
import type { Room } from '../http/room.ts'
import { route, type Call } from '../http/route.ts'
import { maySee, tenantsOf } from '../http/tenancy.ts'
import { etagMatches, rangeOf, refuseRange } from '../http/send-bytes.ts'
import { jobOfHandle } from '../jobs/handle.ts'
import type { JobsRoom } from '../jobs/jobs-room.ts'
import { checkRun } from '../runs/run-tenants.ts'
import { streamOf } from './stream-of.ts'
import { tarOf } from './tar.ts'

export interface ArtifactsRoomOptions {
  /** Undefined: nothing keeps artifacts here. */
  readonly store: ArtifactStore | undefined
  readonly fleet: Fleet
  readonly tables: Tables
  /** Journal of runs. */
  readonly journal: Journal
  /** The room that decides which callers may read computations. */
  readonly jobs: Pick<JobsRoom, 'mayRead'>
  /** The other servers on the same database; undefined when there are none. */
  readonly cluster: Pick<Cluster, 'forwarding'> | undefined
}

type Upload = Call<typeof contracts.putArtifact>

export function openArtifactsRoom(options: ArtifactsRoomOptions): Room {
  const { store, fleet, tables, cluster, journal, jobs } = options
  const kept = (what: string): ArtifactStore => {
    if (store !== undefined) return store
    throw new HeddleError('HDL_NO_ARTIFACTS', { node: 'This server', artifact: what })
  }
  const checkCampaign = async (campaign: string, caller: Caller): Promise<void> => {
    const record = await readCampaign(tables, campaign)
    if (record !== undefined && maySee(caller, record.tenant)) return
    throw new HeddleError('HDL_UNKNOWN_CAMPAIGN', { campaign })
  }
  /** The server that owns a handle knows whose computation it is. */
  const checkComputation = async (handle: string, call: AnyCall): Promise<void> => {
    const answer = await cluster?.forwarding.askOwner(handle, call, `/artifacts/${handle}`)
    if (answer === undefined) {
      if (await jobs.mayRead(handle, call.caller.tenant, call)) return
    } else if (answer.status === 200) return
    else if (answer.status !== 404) throw busyOwner(handle)
    throw new HeddleError('HDL_UNKNOWN_RUN', { run: handle, address: journal.address })
  }
  /** D3. */
  const checkTenant = (run: string, call: AnyCall): Promise<void> | undefined => {
    const { caller } = call
    if (tenantsOf(caller) === undefined) return undefined
    // Handles first: a job may be named "c".
    if (jobOfHandle(run) !== undefined) return checkComputation(run, call)
    return run.startsWith('c-') ? checkCampaign(run, caller) : checkRun(journal, run, caller)
  }
  const ofRun = {
    tenancy: (call: AnyCall & { readonly params: { readonly run: string } }) =>
      checkTenant(call.params.run, call),
  }
  /** D1: whose artifact an upload is; the answer of the owner of its lease when that refuses it. */
  const targetOf = async (call: Upload): Promise<UploadTarget | ForwardAnswer> => {
    const { params, query, caller } = call
    const answer = await cluster?.forwarding.askOwner(
      workOf(params.lease),
      call,
      questionOf(call.request.url),
    )
    if (answer === undefined) {
      return fleet.artifactsOf({ ...params, ...query, owner: caller.id })
    }
    return answer.status === 200 ? (JSON.parse(answer.body.toString()) as UploadTarget) : answer
  }
  const list = async (run: string, node: string | undefined) => {
    const found = (await store?.list(run)) ?? []
    return { artifacts: found.filter(({ by }) => (node ?? by) === by).map(viewOf) }
  }
  return {
    name: 'artifacts',
    routes: [
      route(
        contracts.putArtifact,
        async (call) => {
          const { query, request, signal, reply } = call
          const { name, length, sha256, start = 0 } = query
          const target = await targetOf(call)
          if ('status' in target) {
            return reply.code(target.status).headers(target.headers).send(target.body)
          }
          const { run, by } = target
          const artifacts = kept(name)
          const found = await artifacts.find(run, name)
          // The answer to an upload that had ended was lost.
          const isThere = found?.sha256 === sha256 && found.length === length
          const content = request.raw
          if (isThere) content.resume()
          const info = isThere
            ? found
            : await artifacts.put(run, name, content, {
                by,
                length,
                sha256,
                resumable: true,
                start,
                signal,
              })
          reply.code(201)
          return viewOf(info)
        },
        { tenancy: 'handler' },
      ),
      route(
        contracts.receivedArtifact,
        async ({ params, query, caller }) => {
          const { name, length, sha256, epoch, worker } = query
          const target = fleet.artifactsOf({ lease: params.lease, epoch, worker, owner: caller.id })
          const { run } = target
          const artifacts = kept(name)
          const found = await artifacts.find(run, name)
          const isThere = found?.sha256 === sha256 && found.length === length
          const received = isThere
            ? length
            : await artifacts.received(run, name, { length, sha256 })
          return { ...target, received }
        },
        { ownedBy, tenancy: 'handler' },
      ),
      route(contracts.listArtifacts, ({ params, query }) => list(params.run, query.by), ofRun),
      route(contracts.listRunArtifacts, ({ params, query }) => list(params.id, query.by), {
        tenancy: (call) => checkTenant(call.params.id, call),
      }),
      route(
        contracts.getArtifact,
        async ({ params, request, reply }) => {
          const { run, name } = params
          const info = await kept(name).find(run, name)
          if (info === undefined) {
            throw new HeddleError('HDL_UNKNOWN_ARTIFACT', { run, artifact: name })
          }
          return send(kept(name), info, request, reply)
        },
        ofRun,
      ),
      route(
        contracts.archiveArtifacts,
        async ({ params, reply }) => {
          const artifacts = kept('the archive')
          const found = await artifacts.list(params.run)
          void reply
            .type('application/x-tar')
            .header(
              'content-disposition',
              `attachment; filename="${params.run.replaceAll(/[^\w.-]/g, '_')}.tar"`,
            )
          return reply.send(Readable.from(tarOf(artifacts, found), { objectMode: false }))
        },
        ofRun,
      ),
    ],
    start: async () => undefined,
    drain: async () => ({ isClean: true }),
    stop: async () => undefined,
    stats: () => ({}),
    metrics: () => [],
  }
}

type AnyCall = Parameters<Cluster['forwarding']['askOwner']>[1]

/** The owner of a handle could not say whose it is. */
function busyOwner(handle: string): HeddleError {
  return new HeddleError('HDL_NOT_OWNER', { shard: shardOf(handle), retryAfter: 1_000 })
}

/** The run or campaign that an upload belongs to, and the piece of work. */
type UploadTarget = ReturnType<Fleet['artifactsOf']>

/** The server that answers for the lease. */
const ownedBy = ({ params }: { readonly params: { readonly lease: string } }): string =>
  workOf(params.lease)

/** The path and query of contracts.receivedArtifact for an upload. */
function questionOf(url: string): string {
  const question = new URL(url, 'http://server')
  question.searchParams.delete('start')
  return question.pathname + question.search
}

function viewOf({ run, name, length, sha256, createdAt, by }: ArtifactInfo) {
  return { run, name, length, sha256, created_at: createdAt, by }
}

/** D2. */
async function send(
  store: ArtifactStore,
  { run, name, length, sha256 }: ArtifactInfo,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const etag = `"${sha256}"`
  void reply
    .headers({ etag, 'accept-ranges': 'bytes', 'cache-control': 'private, no-cache' })
    // A job wrote it: no browser may take it for a page of this server.
    .header('content-disposition', `attachment; filename*=UTF-8''${encodeURIComponent(name)}`)
  if (etagMatches(request.headers['if-none-match'], etag)) return reply.code(304).send()
  const range = rangeOf(request, etag, length)
  if (range === 'unsatisfiable') return refuseRange(reply, length)
  const { from: start, to: end } = range ?? { from: 0, to: length }
  if (range !== undefined) {
    void reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${length}`)
  }
  void reply.type('application/octet-stream').header('content-length', end - start)
  // A stream: the length of a text would be sent instead of that of the artifact.
  if (request.method === 'HEAD') return reply.send(Readable.from([]))
  const open = await store.open(run, name, { start, end })
  return reply.send(streamOf(open))
}
