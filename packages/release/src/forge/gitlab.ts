import { projectIn, type ForgeApi } from './api.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The releases of GitLab, or what it lacks, as a sentence. */
export function gitlabApi(env: Environment, remote: string): ForgeApi | string {
  const token = env['GITLAB_TOKEN']
  const jobToken = env['CI_JOB_TOKEN']
  if (!token && !jobToken) return 'a token in GITLAB_TOKEN that may make releases'
  const project = env['CI_PROJECT_ID'] || projectIn(remote)
  if (project === undefined) return 'a project of GitLab: set CI_PROJECT_ID'
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
