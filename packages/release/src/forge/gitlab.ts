import { projectIn, type ForgeApi, type ForgeLack } from './api.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The releases of GitLab, or the missing settings. */
export function gitlabApi(env: Environment, remote: string): ForgeApi | ForgeLack {
  const token = env['GITLAB_TOKEN']
  const jobToken = env['CI_JOB_TOKEN']
  if (!token && !jobToken) {
    return { problem: 'GITLAB_TOKEN is not set', todo: 'Set it to a token that may make releases.' }
  }
  const project = env['CI_PROJECT_ID'] || projectIn(remote)
  if (project === undefined) {
    const problem = 'the address of origin does not name a project of GitLab'
    return { problem, todo: 'Set CI_PROJECT_ID.' }
  }
  const url = (env['CI_API_V4_URL'] || 'https://gitlab.com/api/v4').replace(/\/$/, '')
  const releases = `${url}/projects/${encodeURIComponent(project)}/releases`
  return {
    url,
    headers: {
      accept: 'application/json',
      'user-agent': 'heddle-release',
      ...(token ? { 'private-token': token } : { 'job-token': jobToken! }),
    },
    find: (tag) => `${releases}/${encodeURIComponent(tag)}`,
    create: {
      url: releases,
      body: ({ tag, title, notes, commit }) => ({
        tag_name: tag,
        ref: commit,
        name: title,
        description: notes,
      }),
    },
  }
}
