// SPDX-License-Identifier: Apache-2.0
// Checks derived from the contract itself instead of cases.
import { methodList } from './contract.mjs';
import { send } from './http.mjs';

const ALL_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

const sorted = (list) => [...list].sort().join(', ');

/** GET /v1 lists exactly the operations of the contract, with the same roles. */
export async function routesAgree(base, contract) {
  const { status, body } = await send(base, { method: 'GET', path: '/v1' });
  if (status !== 200) return [`GET /v1 answers ${status}`];
  const served = JSON.parse(body.toString('utf8')).routes.map(
    ({ method, path, role }) => `${method} ${path} (${role})`,
  );
  const documented = contract
    .operations()
    .map(({ method, template, role }) => `${method} ${template} (${role})`);
  return [
    ...documented
      .filter((route) => !served.includes(route))
      .map((route) => `documented, but not served: ${route}`),
    ...served
      .filter((route) => !documented.includes(route))
      .map((route) => `served, but not documented: ${route}`),
    ...served
      .filter((route, i) => served.indexOf(route) !== i)
      .map((route) => `served twice: ${route}`),
  ];
}

/** The operations that need no token in the contract are those with the role `none` in the index. */
export async function openRoutesAgree(base, contract) {
  const { body } = await send(base, { method: 'GET', path: '/v1' });
  const open = JSON.parse(body.toString('utf8')).routes.filter(({ role }) => role === 'none');
  const served = open.map(({ method, path }) => `${method} ${path}`);
  const isOpen = (security) => security?.length === 1 && Object.keys(security[0]).length === 0;
  const documented = contract.routes.flatMap(({ template, item }) =>
    ALL_METHODS.filter((method) => isOpen(item[method.toLowerCase()]?.security)).map(
      (method) => `${method} ${template}`,
    ),
  );
  return sorted(served) === sorted(documented)
    ? []
    : [`without a token: served ${sorted(served)}; documented ${sorted(documented)}`];
}

async function checkMethod(base, contract, method, route) {
  const path = route.template.replace('{ref}', '1');
  const request = { method, path, headers: {} };
  const response = await send(base, request);
  const failures = contract.checkResponse(request, response);
  const allowed = methodList(response.headers.allow);
  const documented = contract.methodsOf(route);
  if (response.status !== 405 || response.json?.code !== 'method_not_allowed')
    failures.push(`answers ${response.status} ${response.json?.code}`);
  else if (sorted(allowed) !== sorted(documented))
    failures.push(`Allow is ${sorted(allowed)}, documented are ${sorted(documented)}`);
  else if (response.headers.allow !== response.json.allow.join(', '))
    failures.push(`Allow is ${response.headers.allow}, the body has ${response.json.allow}`);
  return failures.map((line) => `${method} ${path}: ${line}`);
}

/** A method that the contract does not have on a path gets 405, and Allow lists those that it has. */
export async function otherMethodsAreRefused(base, contract) {
  const failures = [];
  for (const route of contract.routes)
    for (const method of ALL_METHODS.filter((name) => !contract.methodsOf(route).includes(name)))
      failures.push(...(await checkMethod(base, contract, method, route)));
  return failures;
}

export const checks = {
  'contract: the index lists the documented routes and roles': routesAgree,
  'contract: the same routes are open without a token': openRoutesAgree,
  'contract: every other method is 405 with Allow': otherMethodsAreRefused,
};
