-- SPDX-License-Identifier: Apache-2.0
--
-- Random reads, as dashboards and scripts send them, for wrk: wrk -s readers.lua URL SEED; see soak.mjs. Prints the number of
-- answers of each status.

local kinds = { "connections", "connections", "connections", "buffers", "listeners", "transfers", "transfer_batches", "probes", "benchmarks" }
local parts = { connections = { "", "", "/explain", "/messages", "/timeline" }, buffers = { "", "/checksum" } }
local pages = { "/v1/stats", "/metrics", "/v1", "/v1/events?limit=20", "/v1/devices", "/v1/kept_objects", "/livez" }
local marks = { connections = '"qp_type":', buffers = '"rkey":', listeners = '"backlog":', transfers = '"op":' } -- in a list of the kind
local ids = {} -- of each kind, of the list that came last
local BURST = 8 -- requests that follow one another at once (RFC 9112, 9.3.2), which spares most of the cost of TCP
local statuses = {} -- of this thread
local threads = {}

local one_of = function(list) return list[math.random(#list)] end

function setup(thread) table.insert(threads, thread) end

function init(args)
	math.randomseed(tonumber(args[1]))
	counted = ""
end

local draw = function()
	local chance = math.random()
	local kind = one_of(kinds)

	if chance < 0.6 then
		return wrk.format("GET", "/v1/" .. kind .. "/" .. one_of(ids[kind] or { 1 }) .. one_of(parts[kind] or { "" }))
	elseif chance < 0.8 then
		return wrk.format("GET", "/v1/" .. kind .. "?limit=" .. math.random(10) .. "&state=open,ended")
	end
	return wrk.format("GET", one_of(pages))
end

function request()
	local burst = {}

	for i = 1, BURST do
		burst[i] = draw()
	end
	return table.concat(burst)
end

local learn = function(body)
	local found = {}

	for id in body:gmatch('{"id":(%d+)') do
		table.insert(found, id)
	end
	for kind, mark in pairs(marks) do
		if #found > 0 and body:find(mark, 1, true) then
			ids[kind] = found
		end
	end
end

function response(status, headers, body)
	statuses[status] = (statuses[status] or 0) + 1
	if body:find('"items":[', 1, true) then
		learn(body)
	end
	-- A thread gives only its globals away.
	counted = ""
	for number, count in pairs(statuses) do
		counted = counted .. number .. " " .. count .. "\n"
	end
end

function done()
	for _, thread in ipairs(threads) do
		io.write("\n", thread:get("counted"))
	end
end
