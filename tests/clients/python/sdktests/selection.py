"""Which of the client's own tests are run, and what they expect that Octavo does otherwise. Subjects are the names of their
files without `test_` and `_async`."""

# Tests that talk to a server.
SELECTED = """
aggregate auto_scale backwards_compatibility change_feed change_feed_all_versions change_feed_split
changefeed_partition_key_variation computed_properties container_properties_cache cosmos_responses crud crud_container
crud_database crud_response_payload_on_write_disabled crud_subpartition encoding feed_range headers latest_session_token
multi_orderby none_options orderby partition_key partition_split_query query query_cross_partition query_execution_context
query_feed_range query_feed_range_multipartition query_response_headers read_items read_items_partition_split resource_id
routing_map session session_token_helpers shared_cache_integration transactional_batch ttl user_agent user_configs utils
""".split()

LEFT_OUT_FILES = {
    **dict.fromkeys("""
    aio_extras_packaging_unit base_unit compact_utf8_resilience container_rid_header_unit content_length_encoding
    cosmos_http_logging_policy cosmos_paged_unit diagnostics feed_range_continuation_token global_secondary_index
    globaldb_mock hybrid_search_aggregator item_body_serialization location_cache multi_execution_aggregator_unit
    murmurhash3
    partition_key_undefined_unit partition_split_retry_unit pk_range_drain query_advisor query_aggregate_utils_unit
    read_timeout_propagation request_response_decoding response_decoding response_decoding_paged retry_policy
    retryable_writes routing_map_provider_unit semantic_reranker_unit service_retry_policies session_token_unit streaming_failover
    timeout_and_failover_retry_policy transport_body_encoding user_agent_overwrite_regression
    """.split(), "the replies are made up in the client"),
    **dict.fromkeys("""
    availability_strategy circuit_breaker_emulator effective_preferred_locations excluded_locations
    excluded_locations_emulator fault_injection_transport globaldb health_check multimaster per_partition_automatic_failover
    per_partition_circuit_breaker_mm per_partition_circuit_breaker_sm_mrr regional_routing_context
    service_request_retry_policy shared_cache_fault_injection
    """.split(), "needs an account in several regions, or simulates one"),
    **dict.fromkeys("aad aad_inference_service_lazy_init semantic_reranker".split(), "needs Microsoft Entra ID"),
    **dict.fromkeys("""
    full_text_policy query_hybrid_search query_vector_similarity vector_policy
    """.split(), "vector and full-text search are not offered, which the suite cosmos shows"),
    "analytical_ttl": "needs Azure Synapse Link",
    "client_user_agent": "the same as user_agent",
    "global_secondary_index_live": "needs a preview of Azure",
    "integrated_cache": "needs a dedicated gateway of Azure",
    "pk_range_child_update_live": "waits for a state between two steps of a split, which Octavo makes in one",
    "proxy": "needs a proxy",
}

LEFT_OUT_TESTS = {
    **dict.fromkeys([("crud_container", "partitioned_collection_path_parser"),
                     ("crud_response_payload_on_write_disabled", "partitioned_collection_path_parser"),
                     ("crud", "partitioned_collection_path_parser")], "reads a file that is not in the package"),
    **dict.fromkeys([("crud", "read_timeout_on_queries_and_point_operations"), ("crud", "point_operation_read_timeout"),
                     ("crud", "test_read_timeout"), ("crud", "test_client_request_timeout"),
                     ("crud_response_payload_on_write_disabled", "read_timeout"),
                     ("crud_response_payload_on_write_disabled", "test_client_request_timeout")],
                    "a server must not answer within some milliseconds"),
    **dict.fromkeys([("crud", "inner_exceptions_on_timeout"), ("crud", "timeout_on_throttling_error"),
                     ("crud", "timeout_for_read_items"), ("crud", "timeout_for_paged_request"),
                     ("crud", "timeout_on_read_operation"), ("crud", "timeout_on_connection_error"),
                     ("crud", "timeout_failover_retry")], "waits for time-outs that the test makes up"),
    **dict.fromkeys([("crud", "test_priority_level"), ("crud_response_payload_on_write_disabled", "test_priority_level")],
                    "takes a request in the background for its own"),
    **dict.fromkeys([("query_response_headers", "long_pagination_bounded_memory"),
                     ("read_items", "read_items_large_count")], "writes thousands of items one after the other"),
}

ANSWERED = "queries over several partitions are answered, so that the client does not read the ranges"
UNASKED = "a query of all partitions is answered also if it does not say that it may be one"
NOT_ONLY_INDEX = "COUNT reads the items, and counts them among those that were read"
# By subject and name, and by the client if the difference is only in one.
DIFFERING = {
    ("aggregate", "test_run_all"): "aggregates without VALUE are answered, which the client would refuse",
    ("crud_subpartition", "test_partitioned_collection_prefix_partition_query_subpartition"): UNASKED,
    ("encoding", "test_create_stored_procedure_with_line_separator_para_seperator_next_line_unicodes"):
        "a source that is no JavaScript is refused when it is stored (400)",
    ("orderby", "test_orderby_query_noncomparable_orderby_item"):
        "values of different types are sorted; with Azure the client refuses them",
    ("partition_key", "test_with_null_pk", "sync"): UNASKED,
    ("partition_split_query", "test_cached_map_returned_without_lock"): ANSWERED,
    ("partition_split_query", "test_lock_free_fast_path"): ANSWERED,
    ("partition_split_query", "test_etag_staleness_detection_across_all_scenarios"): ANSWERED,
    ("partition_split_query", "test_is_cache_stale_etag_comparison"): ANSWERED,
    ("partition_split_query", "test_incremental_change_feed_only_affects_target_collection"): ANSWERED,
    ("partition_split_query", "test_stale_etag_header_removed_on_full_refresh_fallback"): ANSWERED,
    ("partition_split_query", "test_if_none_match_header_cleanup_on_fallback"): ANSWERED,
    ("partition_split_query", "test_targeted_refresh_with_stale_map_keeps_queries_working"): ANSWERED,
    ("partition_split_query", "test_force_refresh_with_stale_previous_routing_map"): ANSWERED,
    ("partition_split_query", "test_incremental_merge_handles_split_partitions"): ANSWERED,
    ("partition_split_query", "test_incremental_merge_preserves_stable_partitions"): ANSWERED,
    ("query", "test_distinct_on_different_types_and_field_orders", "sync"): ANSWERED,
    ("query_cross_partition", "test_distinct_on_different_types_and_field_orders", "sync"): ANSWERED,
    ("query", "test_unsupported_queries"): ANSWERED,
    ("query_cross_partition", "test_unsupported_queries"): ANSWERED,
    ("query_cross_partition", "test_cross_partition_query_response_hook"): "one page has the items of all ranges",
    ("query", "test_partition_scoped_count_is_index_only"): NOT_ONLY_INDEX,
    ("query_feed_range_multipartition", "test_full_partition_key_query_pagination_resume_and_count_is_index_only"):
        NOT_ONLY_INDEX,
    ("query_feed_range", "test_query_with_static_continuation"): "a continuation that Azure made is refused (400)",
    ("transactional_batch", "test_batch_lsn"): "each operation of a batch has a number of its own (lsn)",
}
