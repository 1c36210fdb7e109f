// Package kit is what the packages of this module share: how a real server is joined,
// what is then asked of the cluster, and which releases a run plays.
package kit
