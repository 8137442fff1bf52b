/**
 * The route table: from the contracts of all rooms to Fastify's routes.
 *
 *   head ─▶ known route? ─▶ caller ─▶ allowed? ─▶ words of the address ─▶ door ─▶ body ─▶ its schema ─▶ tenant ─▶ handler
 *            404, 405        401       403         400                    503     408, 413  400          404
 *
 * R1. Nothing of a body is read before the caller, its right and the words of the address are known to be good.
 * R2. A route reads the kind of body that its contract names, and no other (415).
 * R3. A path of the table that is called with another method is answered 405 with `Allow`.
 */
import { parse as parseForm } from 'node:querystring'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { HeddleError } from '@heddle/core'
import type { WaitOptions } from '@heddle/core/lowlevel'
import type { BodyKind, Contract } from '../client/contract/contract.ts'
import type { AccessPolicy, Caller } from './caller.ts'
import type { HttpSettings } from './context.ts'
import type { CallerWatch } from './lifecycle/caller-watch.ts'
import { parseBody, type ParseMeans } from './parse-json.ts'
import { textOf } from './read-request.ts'
import type { Room } from './room.ts'
import { OpenCall, type Route } from './route.ts'
import { readerOfBody, readerOfWords } from './validate.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Known from the moment on in which the caller is. */
    heddleCall: OpenCall | undefined
  }
  interface FastifyContextConfig {
    contract?: Contract
  }
}

export interface TableSettings extends HttpSettings {
  readonly policy: AccessPolicy
  /** Looks at callers again whose requests take long. */
  readonly callers: Pick<CallerWatch, 'begin'>
}

/** Bytes, by the kind of body. */
const bodyLimits: Readonly<Record<BodyKind, number>> = {
  json: 256 * 1_024,
  form: 64 * 1_024,
  raw: Number.MAX_SAFE_INTEGER,
  none: 64 * 1_024,
}

/** R3, and the answer for paths that no room has. */
export function refuseUnknownRoutes(app: FastifyInstance, rooms: readonly Room[]): void {
  const paths = new Map<string, Set<string>>()
  for (const { contract } of rooms.flatMap(({ routes }) => routes)) {
    const { path, method } = contract
    const methods = paths.get(path) ?? new Set()
    paths.set(path, methods.add(method))
    if (method === 'GET') methods.add('HEAD')
  }
  const known = Array.from(paths, ([path, methods]) => ({
    pattern: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`),
    allowed: [...methods],
  }))
  app.addHook('onRequest', (request, _, done) => {
    if (!request.is404) return done()
    const { method, url } = request
    // Without the query, which may hold secrets.
    const path = url.split('?')[0]!
    const allowed = known.find(({ pattern }) => pattern.test(path))?.allowed
    done(
      allowed === undefined
        ? new HeddleError('HDL_NO_ROUTE', { method, path })
        : new HeddleError('HDL_METHOD_NOT_ALLOWED', { method, path, allowed }),
    )
  })
}

/** A room as a plugin, with one scope for each kind of body (R2). */
export function addRoom(app: FastifyInstance, room: Room, settings: TableSettings): void {
  if (!app.hasRequestDecorator('heddleCall')) app.decorateRequest('heddleCall', undefined)
  void app.register(async (scope) => {
    for (const [kind, parser] of Object.entries(parsers) as [BodyKind, AddParser][]) {
      const routes = room.routes.filter(({ contract }) => contract.body === kind)
      if (routes.length === 0) continue
      await scope.register(async (inner) => {
        parser(inner)
        for (const route of routes) addRoute(inner, route, settings)
      })
    }
  })
}

type AddParser = (scope: FastifyInstance) => void

/**
 * Read as bytes: Node's decoder replaces invalid UTF-8, and a job would compute with another input.
 */
const addTextParser = (type: string | RegExp) => (scope: FastifyInstance) => {
  scope.addContentTypeParser(type, { parseAs: 'buffer' }, async (_: FastifyRequest, body: Buffer) =>
    textOf(body),
  )
}

const parsers: Readonly<Record<BodyKind, AddParser>> = {
  json: addTextParser('application/json'),
  none: addTextParser('application/json'),
  form: addTextParser('application/x-www-form-urlencoded'),
  // The handler reads the stream.
  raw: (scope) => scope.addContentTypeParser('*', (_request, _payload, done) => done(null)),
}

function addRoute(scope: FastifyInstance, route: Route, settings: TableSettings): void {
  const { contract, door, handle, ownedBy, onForwarded, isStream, tenancy } = route
  const { policy, forwarding } = settings
  const readParams = readerOfWords(contract.params, 'The address')
  const readQuery = readerOfWords(contract.query, 'The query')
  const readBody = bodyReader(route, settings.parsing)
  const status = usualStatus(contract)
  const checkTenant = typeof tenancy === 'function' ? tenancy : undefined
  const enter = (request: FastifyRequest, reply: FastifyReply, caller: Caller): void => {
    policy.check(caller, contract, request)
    const call = new OpenCall(request, reply, caller, settings)
    settings.callers.begin(call, contract)
    request.heddleCall = call
    call.params = readParams(request.params)
    call.query = readQuery(request.query)
    door?.(call)
  }
  /** A policy that asks the store. *Cancellation*: none: it has a deadline of its own. */
  const enterLater = async (
    asked: Promise<Caller>,
    request: FastifyRequest,
    reply: FastifyReply,
    done: (error?: Error) => void,
  ): Promise<void> => {
    let problem: Error | undefined
    try {
      enter(request, reply, await asked)
    } catch (error) {
      problem = error as Error
    }
    done(problem)
  }
  const answerTo = (call: OpenCall, body: unknown): unknown => {
    const { reply } = call
    call.body = body as undefined
    const owner = ownedBy?.(call)
    const elsewhere =
      owner === undefined
        ? undefined
        : forwarding?.forward(owner, call, call.request.body as string | undefined, isStream)
    const answer = (): unknown => {
      if (status !== 200) void reply.code(status)
      const checked = checkTenant?.(call)
      return checked === undefined ? handle(call) : checked.then(() => handle(call))
    }
    if (elsewhere === undefined) return answer()
    return elsewhere.then((answered) => {
      if (answered === undefined) return answer()
      onForwarded?.(call, answered)
      return reply
    })
  }
  scope.route({
    method: contract.method,
    url: contract.path,
    bodyLimit: route.bodyLimit ?? bodyLimits[contract.body],
    config: { contract },
    onRequest: (request, reply, done) => {
      try {
        const caller = policy.callerOf(request, contract)
        if (caller instanceof Promise) return void enterLater(caller, request, reply, done)
        enter(request, reply, caller)
        done()
      } catch (error) {
        done(error as Error)
      }
    },
    handler: (request) => {
      const call = request.heddleCall!
      call.begin()
      const text = request.body as string | undefined
      forwarding?.checkBody(request, text)
      const body = readBody(text, call)
      return body instanceof Promise
        ? body.then((read) => answerTo(call, read))
        : answerTo(call, body)
    },
  })
}

/** The first status that is not an error, where a handler sets none. */
function usualStatus({ responses }: Contract): number {
  const statuses = Object.keys(responses).map(Number)
  return statuses.includes(200) ? 200 : (statuses.find((status) => status < 300) ?? 200)
}

/** Resolves later where a long body is parsed in a thread. */
function bodyReader(
  { contract, isUnparsed }: Route,
  parsing: ParseMeans,
): (text: string | undefined, call: OpenCall) => unknown {
  const check = readerOfBody(contract.bodySchema)
  switch (contract.body) {
    case 'json':
      if (isUnparsed) return (text) => text
      return (text, call) => {
        const limitsOf = (): WaitOptions => ({ signal: call.signal, deadline: call.deadline })
        const parsed = parseBody(text, parsing, limitsOf)
        return parsed instanceof Promise ? parsed.then(check) : check(parsed)
      }
    case 'form':
      return (text) => check({ ...parseForm(text ?? '') })
    case 'raw':
    case 'none':
      return () => undefined
  }
}
