package spring;

import com.azure.spring.data.cosmos.repository.Query;
import com.azure.spring.data.cosmos.repository.ReactiveCosmosRepository;
import org.springframework.data.repository.query.Param;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The same entity, asked for asynchronously. */
public interface ReactiveOrders extends ReactiveCosmosRepository<Order, String> {
    Flux<Order> findByCustomer(String customer);

    Mono<Long> countByState(String state);

    @Query("SELECT * FROM c WHERE c.total > @least")
    Flux<Order> above(@Param("least") double least);
}
